//! Rate limits count what is done, whatever requests it comes in.

use serde_json::{Value, json};

use crate::servers::Redis;
use crate::service::{Node, Service, User, user};
use crate::store::Kind;

/// The most changes that are saved up at this rate.
const SAVED_UP: usize = 50;

async fn start(limits: &str) -> Service {
    let arguments = ["--rate-limits", limits, "--change-rate", "1"];
    Service::start_with(Kind::Sqlite, Redis::start(), &arguments).await
}

/// So many likes of an activity in one document.
async fn like(service: &Service, node: &Node, user: &User, activity: &str, times: usize) -> Value {
    let input = format!("input: {{ activityId: \"{activity}\" }}");
    let fields = (0..times).map(|i| format!("a{i}: toggleLike({input}) {{ liked }}"));
    let query = format!("mutation {{ {} }}", fields.collect::<Vec<_>>().join(" "));
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
