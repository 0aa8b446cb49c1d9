//! The protocol, probed where servers are known to differ from it.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::socket::{Socket, WATCH};
use crate::service::{Service, user};
use crate::store::Kind;

const QUERY: &str = "{ viewer { name } }";

async fn service() -> Service {
    Service::start(Kind::Sqlite).await
}

#[tokio::test]
async fn who_says_nothing_is_sent_away() {
    let service = service().await;
    let begun = Instant::now();
    let mut socket = Socket::open(&service.node).await;
    assert_eq!(socket.closed().await, Some(4408));
    let took = begun.elapsed();
    assert!(took > Duration::from_millis(2900), "after {took:?}");
}

#[tokio::test]
async fn nothing_is_executed_before_the_introduction() {
    let service = service().await;
    let mut socket = Socket::open(&service.node).await;
    socket.begin("1", QUERY, json!({})).await;
    assert_eq!(socket.closed().await, Some(4401));
}

#[tokio::test]
async fn one_introduction_is_enough() {
    let service = service().await;
    let mut socket = Socket::of(&service.node, None).await;
    socket.say(json!({ "type": "connection_init" })).await;
    assert_eq!(socket.closed().await, Some(4429));
}

#[tokio::test]
async fn what_is_no_message_ends_the_socket() {
    let service = service().await;
    for message in [
        Message::text("{"),
        Message::text("[]"),
        Message::text(r#"{"type":"start","id":"1","payload":{"query":"{a}"}}"#),
        Message::text(r#"{"type":"subscribe","id":"1"}"#),
        Message::binary(r#"{"type":"ping"}"#.as_bytes()),
    ] {
        let mut socket = Socket::of(&service.node, None).await;
        socket.send(message.clone()).await;
        assert_eq!(socket.closed().await, Some(4400), "{message}");
    }
}

#[tokio::test]
async fn a_name_stands_for_one_operation_at_a_time() {
    let service = service().await;
    let activity = service.activity().await;
    let mut socket = Socket::of(&service.node, None).await;
    socket.watch(&[&activity]).await;
    // Once the first is over, its name is free.
    socket
        .say(json!({ "type": "complete", "id": "watch" }))
        .await;
    socket.watch(&[&activity]).await;
    socket
        .begin("watch", WATCH, json!({ "ids": [activity] }))
        .await;
    assert_eq!(socket.closed().await, Some(4409));
}

#[tokio::test]
async fn what_is_refused_is_an_error_of_its_operation() {
    let service = service().await;
    let activity = service.activity().await;
    let mut socket = Socket::of(&service.node, None).await;
    let two = "subscription($ids: [ID!]!) {
        likesChanged(activityIds: $ids) { activity { id } }
        again: likesChanged(activityIds: $ids) { activity { id } } }";
    let many = vec![activity.clone(); 101];
    for (query, ids) in [
        ("{ nonsense }", json!([])),
        ("{", json!([])),
        ("subscription { nonsense }", json!([])),
        (two, json!([activity])),
        (WATCH, json!(null)),
        (WATCH, json!([])),
        (WATCH, json!(many)),
        (WATCH, json!(["nonsense"])),
    ] {
        socket.begin("1", query, json!({ "ids": ids })).await;
        let answer = socket.hear().await;
        assert_eq!(answer["type"], "error", "{query} {answer}");
        assert_eq!(answer["id"], "1");
        let error = &answer["payload"][0];
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{answer}");
        assert_eq!(error.get("path"), None, "{answer}");
    }
    // An operation that is not there, by name.
    let payload = json!({ "query": "query A { viewer { id } }", "operationName": "B" });
    let subscribe = json!({ "type": "subscribe", "id": "2", "payload": payload });
    socket.say(subscribe).await;
    assert_eq!(socket.hear().await["type"], "error");
    // And the socket goes on.
    socket.begin("1", QUERY, json!({})).await;
    assert_eq!(socket.hear().await["type"], "next");
}

#[tokio::test]
async fn a_ping_is_answered_at_any_time() {
    let service = service().await;
    let mut socket = Socket::open(&service.node).await;
    let ping = json!({ "type": "ping", "payload": { "at": 1 } });
    socket.say(ping.clone()).await;
    assert_eq!(socket.hear().await, json!({ "type": "pong" }));
    socket.say(json!({ "type": "connection_init" })).await;
    assert_eq!(socket.hear().await["type"], "connection_ack");
    socket.say(json!({ "type": "pong" })).await;
    socket.say(ping).await;
    assert_eq!(socket.hear().await, json!({ "type": "pong" }));
}

#[tokio::test]
async fn queries_and_mutations_go_over_a_socket_too() {
    let service = service().await;
    let ada = user("Ada");
    let activity = service.activity().await;
    let mut socket = Socket::of(&service.node, Some(&ada)).await;
    socket.begin("q", QUERY, json!({})).await;
    let next = json!({ "id": "q", "type": "next", "payload": { "data": { "viewer": { "name": "Ada" } } } });
    assert_eq!(socket.hear().await, next);
    assert_eq!(
        socket.hear().await,
        json!({ "id": "q", "type": "complete" })
    );

    let like = "mutation($id: ID!) {
        likeActivity(input: { activityId: $id }) { activity { likeCount isLiked } } }";
    socket.begin("m", like, json!({ "id": activity })).await;
    let next = socket.hear().await;
    let liked = json!({ "likeCount": 1, "isLiked": true });
    assert_eq!(next["payload"]["data"]["likeActivity"]["activity"], liked);
    assert_eq!(socket.hear().await["type"], "complete");

    // Without a token there are the same rules as without a socket.
    let mut socket = Socket::of(&service.node, None).await;
    socket.begin("m", like, json!({ "id": activity })).await;
    let refused = socket.hear().await;
    let code = &refused["payload"]["errors"][0]["extensions"]["code"];
    assert_eq!(code, "UNAUTHENTICATED", "{refused}");
    assert_eq!(socket.hear().await["type"], "complete");
}

#[tokio::test]
async fn no_other_protocol_is_spoken() {
    let service = service().await;
    for headers in [&[][..], &[("sec-websocket-protocol", "graphql-ws")]] {
        let refused = Socket::open_with(&service.node, headers).await;
        assert_eq!(refused.err().unwrap(), 400);
    }
    let several = [("sec-websocket-protocol", "graphql-ws, graphql-transport-ws")];
    assert!(Socket::open_with(&service.node, &several).await.is_ok());
}

#[tokio::test]
async fn pages_of_other_origins_stay_outside() {
    let listed = ["--origins", "https://app.example,http://localhost:3000"];
    let redis = crate::servers::Redis::start();
    let service = Service::start_with(Kind::Sqlite, redis, &listed).await;
    let own = format!("http://{}", service.node.api);
    for (origin, welcome) in [
        (own.as_str(), true),
        ("https://app.example", true),
        ("http://localhost:3000", true),
        ("https://evil.example", false),
        ("null", false),
    ] {
        let headers = [
            ("sec-websocket-protocol", "graphql-transport-ws"),
            ("origin", origin),
        ];
        let opened = Socket::open_with(&service.node, &headers).await;
        let expected = if welcome { None } else { Some(403) };
        assert_eq!(opened.err().map(|it| it.as_u16()), expected, "{origin}");
    }
}

#[tokio::test]
async fn a_long_message_ends_the_socket_and_the_reason_arrives() {
    let service = service().await;
    let mut socket = Socket::of(&service.node, None).await;
    let spaces = " ".repeat(1024 * 1024);
    socket.send(Message::text(format!("{{{spaces}}}"))).await;
    assert_eq!(socket.closed().await, Some(1009));
    // What fits is read.
    let mut socket = Socket::of(&service.node, None).await;
    let spaces = " ".repeat(65_000);
    let ping = format!("{{{spaces}\"type\":\"ping\"}}");
    socket.send(Message::text(ping)).await;
    assert_eq!(socket.hear().await, json!({ "type": "pong" }));
}

#[tokio::test]
async fn a_socket_has_fifty_operations_at_most() {
    let service = service().await;
    let activity = service.activity().await;
    let mut socket = Socket::of(&service.node, None).await;
    for number in 0..1000 {
        let id = number.to_string();
        socket.begin(&id, WATCH, json!({ "ids": [activity] })).await;
    }
    let (mut begun, mut refused) = (0, 0);
    for _ in 0..1000 {
        let answer = socket.hear().await;
        match answer["type"].as_str().unwrap() {
            "next" => begun += 1,
            "error" => {
                let code = &answer["payload"][0]["extensions"]["code"];
                assert_eq!(code, "RATE_LIMITED", "{answer}");
                refused += 1;
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!((begun, refused), (50, 950));
    // One that ends makes room for another.
    socket.say(json!({ "type": "complete", "id": "0" })).await;
    socket.watch(&[&activity]).await;
}

#[tokio::test]
async fn a_token_that_is_not_believed_ends_the_socket() {
    let service = service().await;
    for payload in [
        json!({ "Authorization": "Bearer nonsense" }),
        json!({ "authorization": "nonsense" }),
        json!({ "authorization": 1 }),
        json!({ "authorization": "Bearer a", "Authorization": "Bearer b" }),
    ] {
        let mut socket = Socket::open(&service.node).await;
        let init = json!({ "type": "connection_init", "payload": payload });
        socket.say(init).await;
        assert_eq!(socket.closed().await, Some(4403), "{payload}");
    }
}

#[tokio::test]
async fn what_is_no_browser_may_send_its_token_with_the_request() {
    let service = service().await;
    let token = format!("Bearer {}", user("Ada").token);
    let headers = |token| {
        [
            ("sec-websocket-protocol", "graphql-transport-ws"),
            ("authorization", token),
        ]
    };
    let opened = Socket::open_with(&service.node, &headers(&token)).await;
    let mut socket = opened.unwrap();
    socket.say(json!({ "type": "connection_init" })).await;
    assert_eq!(socket.hear().await["type"], "connection_ack");
    socket.begin("1", QUERY, json!({})).await;
    let answer = socket.hear().await;
    assert_eq!(answer["payload"]["data"]["viewer"]["name"], "Ada");
    let refused = Socket::open_with(&service.node, &headers("Bearer nonsense")).await;
    assert_eq!(refused.err().unwrap(), 401);
}
