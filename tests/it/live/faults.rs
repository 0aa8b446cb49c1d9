//! Faults that servers of subscriptions are known to have (`FAULTS` 47 to 50).

use std::time::Duration;

use serde_json::{Value, json};

use super::socket::Socket;
use crate::servers::Redis;
use crate::service::{Node, Service, User, user};
use crate::store::Kind;

/// Everything that a card of the feed shows.
const CARD: &str = "subscription($ids: [ID!]!) { likesChanged(activityIds: $ids) { activity {
    id likeCount isLiked likeRank likesChangedAt title author { name } topLikers(first: 3) { name } } } }";

async fn card_of(node: &Node, viewer: Option<&User>, activity: &str) -> (Socket, Value) {
    let mut socket = Socket::of(node, viewer).await;
    socket
        .begin("card", CARD, json!({ "ids": [activity] }))
        .await;
    let first = socket.change().await;
    (socket, first)
}

#[tokio::test]
async fn each_event_shows_its_own_state_to_each_viewer() {
    let service = Service::start(Kind::Sqlite).await;
    let (ada, grace, linus) = (user("Ada"), user("Grace"), user("Linus"));
    let activity = service.activity().await;
    let (mut of_ada, first) = card_of(&service.node, Some(&ada), &activity).await;
    let (mut of_grace, _) = card_of(&service.node, Some(&grace), &activity).await;
    let (mut of_nobody, _) = card_of(&service.node, None, &activity).await;
    assert_eq!(
        (&first["likeCount"], &first["isLiked"]),
        (&json!(0), &json!(false))
    );
    assert_eq!(first["author"]["name"], "author");

    let mut names = Vec::new();
    for (count, who) in (1..).zip([&linus, &ada, &grace]) {
        service.like(who, &activity).await;
        names.push(json!({ "name": who.name }));
        let seen = of_ada.changes_until(count).await.pop().unwrap();
        assert_eq!(seen["topLikers"], json!(names));
        assert_eq!(seen["isLiked"], json!(count >= 2), "{seen}");
        assert_eq!(
            seen["likeRank"],
            if count >= 2 { json!(2) } else { json!(null) }
        );
        let seen = of_grace.changes_until(count).await.pop().unwrap();
        assert_eq!(seen["isLiked"], json!(count >= 3), "{seen}");
        let seen = of_nobody.changes_until(count).await.pop().unwrap();
        assert_eq!(seen["isLiked"], json!(false), "{seen}");
    }
    service.unlike(&ada, &activity).await;
    let seen = of_ada.changes_until(2).await.pop().unwrap();
    assert_eq!(
        (&seen["isLiked"], &seen["likeRank"]),
        (&json!(false), &json!(null))
    );
}

#[tokio::test]
async fn sessions_on_different_nodes_agree() {
    let service = Service::start(Kind::Postgres).await;
    let other = service.node_at(&service.world.address).await;
    let activity = service.activity().await;
    let (mut here, _) = card_of(&service.node, Some(&user("Ada")), &activity).await;
    let (mut there, _) = card_of(&other, Some(&user("Grace")), &activity).await;
    let likes = (0..40).map(|number| {
        let node = if number % 2 == 0 {
            &service.node
        } else {
            &other
        };
        let (service, activity) = (&service, activity.as_str());
        async move {
            let liker = user(&format!("user {number}"));
            let answer = service.try_change(node, "toggleLike", &liker, activity, None);
            assert_eq!(answer.await.get("errors"), None);
        }
    });
    futures::future::join_all(likes).await;
    let on_node = here.changes_until(40).await.pop().unwrap();
    let on_other = there.changes_until(40).await.pop().unwrap();
    assert_eq!(on_node, on_other);
    let details = service.details(None, &activity).await;
    assert_eq!(
        on_node["likesChangedAt"].as_str(),
        details.changed_at.as_deref()
    );
}

#[tokio::test]
async fn after_a_restart_of_redis_a_fresh_state_comes_without_a_new_like() {
    let redis = Redis::start_durable();
    let mut service = Service::start_with(Kind::Sqlite, redis, &[]).await;
    let activity = service.activity().await;
    service.like(&user("Ada"), &activity).await;
    let mut socket = Socket::of(&service.node, None).await;
    assert_eq!(socket.watch(&[&activity]).await[0]["likeCount"], 1);
    service.redis.restart();
    assert_eq!(socket.change().await["likeCount"], 1);
    service.like(&user("Grace"), &activity).await;
    socket.changes_until(2).await;
}

#[tokio::test]
async fn what_happens_while_the_link_is_broken_is_not_lost() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let mut socket = Socket::of(&service.node, None).await;
    socket.watch(&[&activity]).await;
    for count in 1..=3 {
        let killed: i64 = service.redis(&["CLIENT", "KILL", "TYPE", "pubsub"]).await;
        assert_eq!(killed, 1, "one link for the whole node");
        service
            .like(&user(&format!("user {count}")), &activity)
            .await;
        socket.changes_until(count).await;
        linked(&service).await;
    }
}

#[tokio::test]
async fn a_redis_that_hangs_is_noticed() {
    let arguments = ["--redis-timeout", "500ms"];
    let mut service = Service::start_with(Kind::Sqlite, Redis::start(), &arguments).await;
    let activity = service.activity().await;
    service.like(&user("Ada"), &activity).await;
    service.persist().await;
    let mut socket = Socket::of(&service.node, None).await;
    socket.watch(&[&activity]).await;
    service.redis.freeze();
    tokio::time::sleep(Duration::from_secs(4)).await;
    service.redis.thaw();
    assert_eq!(socket.change().await["likeCount"], 1);
}

#[tokio::test]
async fn one_link_hears_for_all_sockets_of_a_node() {
    let service = Service::start(Kind::Sqlite).await;
    let mut sockets = Vec::new();
    for _ in 0..5 {
        let activity = service.activity().await;
        let (socket, _) = card_of(&service.node, None, &activity).await;
        sockets.push((socket, activity));
    }
    assert_eq!(links(&service).await, 1);
    for (socket, activity) in &mut sockets {
        service.like(&user("Ada"), activity).await;
        socket.changes_until(1).await;
    }
}

/// Connections that hear of changes.
async fn links(service: &Service) -> usize {
    let clients: String = service.redis(&["CLIENT", "LIST", "TYPE", "pubsub"]).await;
    clients.lines().count()
}

async fn linked(service: &Service) {
    while links(service).await == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
