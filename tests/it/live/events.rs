//! The same over server-sent events.

use reqwest::header::ACCEPT;
use serde_json::{Value, json};

use super::socket::WATCH;
use super::stream::Stream;
use crate::service::{Service, user};
use crate::store::Kind;

#[tokio::test]
async fn changes_come_as_events_to_their_viewer() {
    let service = Service::start(Kind::Sqlite).await;
    let ada = user("Ada");
    let activity = service.activity().await;
    let variables = json!({ "ids": [activity] });
    let mut stream = Stream::post(&service.node, Some(&ada), WATCH, variables).await;
    let first = stream.change().await;
    assert_eq!(
        (&first["likeCount"], &first["isLiked"]),
        (&json!(0), &json!(false))
    );
    service.like(&ada, &activity).await;
    let change = stream.change().await;
    assert_eq!(
        (&change["likeCount"], &change["isLiked"]),
        (&json!(1), &json!(true))
    );
}

#[tokio::test]
async fn a_browser_can_watch_by_get() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let variables = json!({ "ids": [activity] }).to_string();
    let query = [("query", WATCH), ("variables", &variables)];
    let url = reqwest::Url::parse_with_params(&service.node.url(), query).unwrap();
    let ask = |url| {
        reqwest::Client::new()
            .get(url)
            .header(ACCEPT, "text/event-stream")
    };
    let mut stream = Stream::of(ask(url).send().await.unwrap());
    assert_eq!(stream.change().await["likeCount"], 0);
    service.like(&user("Ada"), &activity).await;
    assert_eq!(stream.change().await["likeCount"], 1);

    // But nothing is changed by GET.
    let like =
        format!("mutation {{ likeActivity(input: {{ activityId: \"{activity}\" }}) {{ liked }} }}");
    let url = reqwest::Url::parse_with_params(&service.node.url(), [("query", &like)]).unwrap();
    let request = ask(url).bearer_auth(user("Grace").token);
    let mut stream = Stream::of(request.send().await.unwrap());
    assert_eq!(code(&stream.next().await.unwrap().1), "BAD_USER_INPUT");
    assert_eq!(service.details(None, &activity).await.count, 1);
}

#[tokio::test]
async fn other_operations_have_one_event_and_then_the_end() {
    let service = Service::start(Kind::Sqlite).await;
    let ada = user("Ada");
    let query = "{ viewer { name } }";
    let mut stream = Stream::post(&service.node, Some(&ada), query, json!({})).await;
    let data = json!({ "data": { "viewer": { "name": "Ada" } } });
    assert_eq!(stream.next().await, Some(("next".into(), data)));
    assert_eq!(stream.next().await, Some(("complete".into(), Value::Null)));
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn what_is_refused_is_told_in_the_stream() {
    let service = Service::start(Kind::Sqlite).await;
    for query in ["{ nonsense }", "{", "subscription { nonsense }"] {
        let mut stream = Stream::post(&service.node, None, query, json!({})).await;
        let (name, data) = stream.next().await.unwrap();
        assert_eq!((name.as_str(), code(&data)), ("next", "BAD_USER_INPUT"));
        assert_eq!(data.get("data"), None);
        assert_eq!(stream.next().await, Some(("complete".into(), Value::Null)));
        assert_eq!(stream.next().await, None);
    }
}

#[tokio::test]
async fn a_stream_is_opened_only_for_who_takes_one_and_is_believed() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let body = json!({ "query": WATCH, "variables": { "ids": [activity] } });
    let post = || reqwest::Client::new().post(service.node.url()).json(&body);
    let plain = post().send().await.unwrap();
    assert_eq!(plain.status(), 400);
    let bad = post()
        .header(ACCEPT, "text/event-stream")
        .bearer_auth("nonsense");
    assert_eq!(bad.send().await.unwrap().status(), 401);
    // Some clients send one list for whatever they ask.
    let list =
        "application/graphql-response+json, application/json, text/event-stream, multipart/mixed";
    let mut stream = Stream::of(post().header(ACCEPT, list).send().await.unwrap());
    assert_eq!(stream.change().await["likeCount"], 0);
    let query = json!({ "query": "{ viewer { id } }" });
    let client = reqwest::Client::new();
    let answer = client
        .post(service.node.url())
        .json(&query)
        .header(ACCEPT, list);
    let answer: Value = answer.send().await.unwrap().json().await.unwrap();
    assert_eq!(answer, json!({ "data": { "viewer": null } }));
}

fn code(data: &Value) -> &str {
    data["errors"][0]["extensions"]["code"].as_str().unwrap()
}
