//! Rate limits count what is done, whatever requests it comes in.

use serde_json::{Value, json};

use crate::live::socket::Socket;
use crate::servers::Redis;
use crate::service::{Node, Service, User, user};
use crate::store::Kind;

/// The most changes that are saved up at this rate.
const SAVED_UP: usize = 50;

async fn start(limits: &str) -> Service {
    let arguments = ["--rate-limits", limits, "--change-rate", "1"];
    Service::start_with(Kind::Sqlite, Redis::start(), &arguments).await
}

/// A document of so many likes of an activity.
fn likes(activity: &str, times: usize) -> String {
    let input = format!("input: {{ activityId: \"{activity}\" }}");
    let fields = (0..times).map(|i| format!("a{i}: toggleLike({input}) {{ liked }}"));
    format!("mutation {{ {} }}", fields.collect::<Vec<_>>().join(" "))
}

async fn like(service: &Service, node: &Node, user: &User, activity: &str, times: usize) -> Value {
    let query = likes(activity, times);
    service
        .send(node, Some(user), json!({ "query": query }))
        .await
}

fn code(answer: &Value) -> &str {
    let code = &answer["errors"][0]["extensions"]["code"];
    code.as_str().unwrap_or_default()
}

#[tokio::test]
async fn aliases_count_one_by_one_and_are_refused_before_the_first_runs() {
    let service = start("process").await;
    let (ada, grace) = (user("Ada"), user("Grace"));
    let activity = service.activity().await;
    for _ in 0..SAVED_UP / 5 - 1 {
        let answer = like(&service, &service.node, &ada, &activity, 5).await;
        assert_eq!(code(&answer), "", "{answer}");
    }
    like(&service, &service.node, &ada, &activity, 2).await;
    let before = service.details(Some(&ada), &activity).await;
    // Three or four are left.
    let answer = like(&service, &service.node, &ada, &activity, 5).await;
    assert_eq!(code(&answer), "RATE_LIMITED", "{answer}");
    let wait = answer["errors"][0]["extensions"]["retryAfterMs"].as_u64();
    assert!(
        wait.is_some_and(|wait| (1..=3_000).contains(&wait)),
        "{answer}"
    );
    assert_eq!(answer.get("data"), None);
    assert_eq!(service.details(Some(&ada), &activity).await, before);
    // Others are not concerned, and reading is another allowance.
    let answer = like(&service, &service.node, &grace, &activity, 5).await;
    assert_eq!(code(&answer), "", "{answer}");
}

#[tokio::test]
async fn nodes_count_together_if_they_are_told_to() {
    for (limits, expected) in [("shared", "RATE_LIMITED"), ("process", ""), ("off", "")] {
        let service = start(limits).await;
        let other = service.node_at(&service.world.address).await;
        let ada = user("Ada");
        let activity = service.activity().await;
        for _ in 0..SAVED_UP / 5 {
            like(&service, &service.node, &ada, &activity, 5).await;
        }
        let answer = like(&service, &other, &ada, &activity, 5).await;
        assert_eq!(code(&answer), expected, "{limits}: {answer}");
        other.stop().await;
    }
}

#[tokio::test]
async fn limits_go_on_while_redis_is_away() {
    let mut service = start("shared").await;
    service.redis.freeze();
    let query = json!({ "query": "{ __typename }" });
    let answer = service.send(&service.node, None, query).await;
    assert_eq!(answer["data"]["__typename"], "Query", "{answer}");
    service.redis.thaw();
}

#[tokio::test]
async fn a_socket_is_no_way_around_the_limits() {
    let service = start("process").await;
    let ada = user("Ada");
    let activity = service.activity().await;
    for _ in 0..SAVED_UP / 5 {
        like(&service, &service.node, &ada, &activity, 5).await;
    }
    let before = service.details(Some(&ada), &activity).await;
    let mut socket = Socket::of(&service.node, Some(&ada)).await;
    socket.begin("1", &likes(&activity, 5), json!({})).await;
    let refused = socket.hear().await;
    assert_eq!(
        (&refused["id"], &refused["type"]),
        (&json!("1"), &json!("error"))
    );
    let extensions = &refused["payload"][0]["extensions"];
    assert_eq!(extensions["code"], "RATE_LIMITED", "{refused}");
    assert!(extensions["retryAfterMs"].is_u64(), "{refused}");
    assert_eq!(service.details(Some(&ada), &activity).await, before);
    // The socket itself stays, for what is still allowed.
    socket.begin("2", "{ viewer { name } }", json!({})).await;
    let answer = socket.hear().await;
    assert_eq!(
        answer["payload"]["data"]["viewer"]["name"], "Ada",
        "{answer}"
    );
}

/// One where hardly anything may be read.
async fn start_reading(arguments: &[&str]) -> Service {
    let limits = ["--rate-limits", "process", "--read-rate", "1"];
    let arguments = [&limits[..], arguments].concat();
    Service::start_with(Kind::Sqlite, Redis::start(), &arguments).await
}

/// Asks without a token, with what proxies wrote; the code of the refusal.
async fn ask_from(node: &Node, forwarded: &[&str]) -> String {
    let query = "{ activities(first: 100) { nodes { topLikers(first: 50) { name } } } }";
    let request = reqwest::Client::new().post(node.url());
    let request = forwarded.iter().fold(request, |request, addresses| {
        request.header("x-forwarded-for", *addresses)
    });
    let answer = request
        .json(&json!({ "query": query }))
        .send()
        .await
        .unwrap();
    let answer: Value = answer.json().await.unwrap();
    assert!(
        answer["data"].is_object() || answer.get("errors").is_some(),
        "{answer}"
    );
    code(&answer).to_owned()
}

#[tokio::test]
async fn behind_a_proxy_each_address_has_an_allowance_of_its_own() {
    let behind = ["--client-address-header", "X-Forwarded-For"];
    let service = start_reading(&behind).await;
    let ask = async |forwarded: &[&str]| ask_from(&service.node, forwarded).await;
    let mut asked = 0;
    while ask(&["192.0.2.1"]).await.is_empty() {
        asked += 1;
        assert!(asked < 100, "never refused");
    }
    assert!(asked > 0);
    let refused = "RATE_LIMITED";
    assert_eq!(ask(&["192.0.2.1"]).await, refused);
    assert_eq!(ask(&["192.0.2.2"]).await, "");
    // What a client writes itself stands before what the proxy adds, and does not count.
    assert_eq!(ask(&["192.0.2.3, 192.0.2.1"]).await, refused);
    assert_eq!(ask(&["192.0.2.3", "192.0.2.1"]).await, refused);
    assert_eq!(ask(&["192.0.2.1, 192.0.2.4"]).await, "");
}

#[tokio::test]
async fn variables_are_paid_for_also_where_nothing_uses_them() {
    let service = start_reading(&[]).await;
    let variables = json!({ "unused": { "list": vec!["a"; 40_000] } });
    let body = json!({ "query": "{ __typename }", "variables": variables });
    let mut codes = Vec::new();
    for _ in 0..20 {
        let answer = service.send(&service.node, None, body.clone()).await;
        codes.push(code(&answer).to_owned());
    }
    assert_eq!(
        (codes[0].as_str(), codes[19].as_str()),
        ("", "RATE_LIMITED")
    );
}

#[tokio::test]
async fn without_a_proxy_nobody_gets_an_allowance_by_a_header() {
    let service = start_reading(&[]).await;
    for number in 1..100 {
        let forged = format!("192.0.2.{number}");
        if ask_from(&service.node, &[&forged]).await == "RATE_LIMITED" {
            return;
        }
    }
    panic!("never refused");
}
