//! How much reaches whom: at once, never too often, the newest in the end, whatever the reader does.

use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::json;
use tokio::time::sleep;

use super::socket::Socket;
use super::stream::Stream;
use crate::servers::Redis;
use crate::service::{Service, user};
use crate::store::Kind;

/// Likes of users who have not liked yet, a few at a time.
async fn likes(service: &Service, activity: &str, users: std::ops::Range<usize>) {
    for some in users.collect::<Vec<_>>().chunks(10) {
        join_all(some.iter().map(|number| async move {
            service
                .like(&user(&format!("user {number}")), activity)
                .await;
        }))
        .await;
    }
}

#[tokio::test]
async fn a_lone_like_is_told_at_once() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let mut socket = Socket::of(&service.node, None).await;
    socket.watch(&[&activity]).await;
    for count in 1..=3 {
        sleep(Duration::from_millis(300)).await;
        service
            .like(&user(&format!("user {count}")), &activity)
            .await;
        let begun = Instant::now();
        socket.changes_until(count).await;
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(3), "after {took:?}");
    }
    assert!(socket.is_silent_for(Duration::from_millis(500)).await);
}

#[tokio::test]
async fn many_likes_are_about_ten_messages_a_second_and_the_last_arrives() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let mut socket = Socket::of(&service.node, None).await;
    socket.watch(&[&activity]).await;
    let begun = Instant::now();
    let read = async {
        let changes = socket.changes_until(300).await;
        (changes, begun.elapsed())
    };
    let ((), (changes, took)) = tokio::join!(likes(&service, &activity, 0..300), read);
    let most = took.as_millis() / 100 + 2;
    assert!(
        changes.len() as u128 <= most,
        "{} in {took:?}",
        changes.len()
    );
    let counts: Vec<_> = changes.iter().map(|it| it["likeCount"].as_i64()).collect();
    assert!(counts.is_sorted(), "{counts:?}");
    assert!(socket.is_silent_for(Duration::from_millis(300)).await);
}

/// An activity, and a subscription to it with messages of some 250 KB: the network's buffers hold a few seconds of them.
async fn heavy(service: &Service) -> (String, String) {
    let body = "x".repeat(10_000);
    let create = "mutation($body: String!) {
        createActivity(input: { title: \"T\", body: $body }) { activity { id } } }";
    let data = service
        .query(Some(&user("author")), create, json!({ "body": body }))
        .await;
    let activity = data["createActivity"]["activity"]["id"].as_str().unwrap();
    let bodies: String = (0..25).flat_map(|it| [format!("b{it}: body ")]).collect();
    let query = format!(
        "subscription($ids: [ID!]!) {{ likesChanged(activityIds: $ids) {{
            activity {{ likeCount {bodies} }} }} }}"
    );
    (activity.to_owned(), query)
}

#[tokio::test]
async fn a_slow_reader_gets_fewer_messages_and_then_the_newest_state() {
    let service = Service::start(Kind::Sqlite).await;
    let (activity, query) = heavy(&service).await;
    let mut socket = Socket::of(&service.node, None).await;
    socket
        .begin("1", &query, json!({ "ids": [activity] }))
        .await;
    socket.change().await;

    let begun = Instant::now();
    let mut count = 0;
    while begun.elapsed() < Duration::from_secs(5) {
        likes(&service, &activity, count..count + 10).await;
        count += 10;
    }
    let ticks = begun.elapsed().as_millis() / 100;
    let changes = socket.changes_until(i64::try_from(count).unwrap()).await;
    let read = changes.len();
    assert!(
        (read as u128) < ticks / 2 + 5,
        "{read} of {ticks} messages waited"
    );
    assert!(socket.is_silent_for(Duration::from_millis(300)).await);
}

#[tokio::test]
async fn a_reader_that_takes_nothing_is_given_up() {
    let impatient = ["--send-timeout", "1s", "--socket-ping", "500ms"];
    let service = Service::start_with(Kind::Sqlite, Redis::start(), &impatient).await;
    let (activity, query) = heavy(&service).await;
    let variables = json!({ "ids": [activity] });
    let mut stream = Stream::post(&service.node, None, &query, variables.clone()).await;
    stream.change().await;
    let mut socket = Socket::of(&service.node, None).await;
    socket.begin("1", &query, variables).await;
    socket.change().await;

    // Until the network's buffers are full, and then for longer than anybody is waited for.
    let begun = Instant::now();
    let mut count = 0;
    while begun.elapsed() < Duration::from_secs(8) {
        likes(&service, &activity, count..count + 10).await;
        count += 10;
    }
    assert!(stream.breaks_off().await);
    assert_eq!(socket.closed().await, None);
}

#[tokio::test]
async fn activities_take_turns() {
    let service = Service::start(Kind::Sqlite).await;
    let mut activities = Vec::new();
    for _ in 0..20 {
        activities.push(service.activity().await);
    }
    let ids: Vec<&str> = activities.iter().map(String::as_str).collect();
    let mut socket = Socket::of(&service.node, None).await;
    let mut first: Vec<_> = socket.watch(&ids).await;
    first.sort_by_key(|it| ids.iter().position(|id| *id == it["id"]));
    let seen: Vec<_> = first.iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(seen, ids, "each activity's state comes once at first");
    join_all(ids.iter().map(|id| likes(&service, id, 0..3))).await;
    let mut open = ids.len();
    while open > 0 {
        open -= usize::from(socket.change().await["likeCount"] == 3);
    }
}

#[tokio::test]
async fn an_activity_that_does_not_exist_is_passed_over() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let missing = crate::service::id_of(9_000_000_000_i64);
    let mut socket = Socket::of(&service.node, None).await;
    let ids = json!({ "ids": [missing, activity, activity] });
    socket.begin("1", super::socket::WATCH, ids).await;
    assert_eq!(socket.change().await["id"], json!(activity));
    assert!(socket.is_silent_for(Duration::from_millis(300)).await);
}
