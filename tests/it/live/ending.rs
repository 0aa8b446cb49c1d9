//! How it ends: with the token, with the process, with a client that is gone.

use std::time::{Duration, Instant, SystemTime};

use likewise::config::Secret;
use likewise::http::auth::{Grant, sign};
use serde_json::json;
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::socket::{Socket, WATCH};
use super::stream::Stream;
use crate::servers::Redis;
use crate::service::{SECRET, Service, User, user};
use crate::store::Kind;

/// Somebody whose token lasts so long.
fn user_for(ttl: Duration) -> User {
    let grant = Grant {
        subject: "Ada",
        name: None,
        picture: None,
        issuer: None,
        audience: None,
        issued_at: SystemTime::now(),
        ttl,
    };
    User {
        token: sign(&Secret::from(SECRET.to_owned()), &grant).unwrap(),
        ..user("Ada")
    }
}

#[tokio::test]
async fn a_socket_lives_as_long_as_its_token() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let begun = Instant::now();
    let ada = user_for(Duration::from_secs(3));
    let mut socket = Socket::of(&service.node, Some(&ada)).await;
    socket.watch(&[&activity]).await;
    assert_eq!(socket.closed().await, Some(4403));
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(10), "after {took:?}");
}

#[tokio::test]
async fn an_event_stream_lives_as_long_as_its_token() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let begun = Instant::now();
    let ada = user_for(Duration::from_secs(3));
    let variables = json!({ "ids": [activity] });
    let mut stream = Stream::post(&service.node, Some(&ada), WATCH, variables).await;
    stream.change().await;
    // The client may come back, so that nothing says that all is complete.
    assert_eq!(stream.next().await, None);
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(10), "after {took:?}");
}

#[tokio::test]
async fn sockets_and_streams_are_told_of_the_end_of_the_process() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let node = service.node_at(&service.world.address).await;
    let mut socket = Socket::of(&node, None).await;
    socket.watch(&[&activity]).await;
    let variables = json!({ "ids": [activity] });
    let mut stream = Stream::post(&node, None, WATCH, variables).await;
    stream.change().await;
    // These do not even listen.
    let _deaf = Socket::of(&node, None).await;
    let _silent = Socket::open(&node).await;
    let begun = Instant::now();
    let (end, last, ()) = tokio::join!(socket.closed(), stream.next(), node.stop());
    assert_eq!((end, last), (Some(1012), None));
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(10), "after {took:?}");
}

#[tokio::test]
async fn a_client_that_is_gone_is_noticed() {
    let often = ["--socket-ping", "1s"];
    let service = Service::start_with(Kind::Sqlite, Redis::start(), &often).await;
    // A client answers pings while it reads, and this one does not read.
    let mut gone = Socket::of(&service.node, None).await;
    let mut there = Socket::of(&service.node, None).await;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(5) {
        there.say(json!({ "type": "ping" })).await;
        assert_eq!(there.hear().await, json!({ "type": "pong" }));
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(gone.closed().await, None);
    there.say(json!({ "type": "ping" })).await;
    assert_eq!(there.hear().await, json!({ "type": "pong" }));
}

#[tokio::test]
async fn a_client_that_says_goodbye_is_answered() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let mut socket = Socket::of(&service.node, None).await;
    socket.watch(&[&activity]).await;
    let frame = CloseFrame {
        code: 1000.into(),
        reason: "".into(),
    };
    socket.send(Message::Close(Some(frame))).await;
    assert_eq!(socket.closed().await, Some(1000));
}
