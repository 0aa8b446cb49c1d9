//! Rebuilding sets from SQL.

use std::time::Duration;

use futures::future::join_all;
use likewise::cache::{Begun, Lease};
use likewise::domain::{Liker, Page, Take, Timestamp};
use likewise::store::RowsQuery;
use serde_json::json;

use crate::proxy::{Mode, Proxy};
use crate::service::{Details, Service, User, change, eventually, key_of, user};
use crate::store::Kind;

/// Likes and persists, so that the set can be rebuilt.
async fn liked_by(service: &Service, activity: &str, names: &[&str]) {
    for name in names {
        service.like(&user(name), activity).await;
    }
    service.persist().await;
}

async fn drop_set(service: &Service, activity: &str) {
    let set = service.redis_key("set", activity);
    let _: i64 = service.redis(&["DEL", &set]).await;
}

/// Begins a rebuild by hand and reads the rows, as a rebuilder that then stalls.
async fn stalled(service: &Service, activity: &str) -> (Lease, Vec<Liker>, Option<Timestamp>) {
    let key = key_of(activity);
    let cache = service.node.app.cache();
    let Begun::Granted(lease) = cache.begin(key).await.unwrap() else {
        panic!("no lease");
    };
    let rows = RowsQuery {
        activities: &[key],
        ..RowsQuery::default()
    };
    let page = Page {
        take: Take::First(100),
        after: None,
        before: None,
    };
    let mut found = service
        .world
        .store
        .likers(&rows, &page)
        .await
        .unwrap()
        .found;
    let likers = found.remove(&key).unwrap().items;
    let version = likers.last().map(|liker| liker.at);
    (lease, likers, version)
}

// 24, 29
#[tokio::test]
async fn a_rebuilder_that_sql_holds_up_neither_wipes_newer_likes_nor_blocks_others_for_long() {
    let service = Service::start(Kind::Postgres).await;
    let proxy = Proxy::before(&service.world.address).await;
    let slow = service
        .node_at(&proxy.address(&service.world.address))
        .await;
    let (activity, warm) = (service.activity().await, service.activity().await);
    let (xavier, yves) = (user("Xavier"), user("Yves"));
    // Both nodes know both users, so that nothing but the rebuild needs SQL.
    for (node, user) in [(&slow, &xavier), (&service.node, &yves)] {
        let change = service.try_change(node, "likeActivity", user, &warm, None);
        assert_eq!(change.await.get("errors"), None);
    }
    liked_by(&service, &activity, &["Ada", "Bob"]).await;
    drop_set(&service, &activity).await;

    proxy.set(Mode::Held);
    let lease = service.redis_key("lease", &activity);
    let held_up = service.try_change(&slow, "likeActivity", &xavier, &activity, None);
    let meanwhile = async {
        eventually("a rebuild is under way", async || {
            service.redis::<bool>(&["EXISTS", &lease]).await
        })
        .await;
        // It waits for the lease to end, and then rebuilds by itself.
        let liked = service.like(&yves, &activity).await;
        assert_eq!(Details::of(&liked["activity"]).top, ["Ada", "Bob", "Yves"]);
        proxy.mend();
    };
    let (held_up, ()) = futures::join!(held_up, meanwhile);
    // It may have given up meanwhile; then it says so.
    let names = if held_up.get("errors").is_none() {
        vec!["Ada", "Bob", "Yves", "Xavier"]
    } else {
        assert_eq!(held_up["errors"][0]["extensions"]["outcome"], "not_applied");
        vec!["Ada", "Bob", "Yves"]
    };
    assert_eq!(service.at_rest(&activity).await.top, names);
    slow.stop().await;
}

// 24
#[tokio::test]
async fn a_rebuilder_whose_lease_has_ended_puts_nothing_into_place() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    liked_by(&service, &activity, &["Ada", "Bob"]).await;
    drop_set(&service, &activity).await;
    let cache = service.node.app.cache();
    let (early, likers, version) = stalled(&service, &activity).await;
    assert!(cache.stage(&early, &likers).await.unwrap());
    let lease = service.redis_key("lease", &activity);
    let _: i64 = service.redis(&["DEL", &lease]).await;
    // Another rebuilds, likes change and are persisted, and the set goes again.
    service.unlike(&user("Ada"), &activity).await;
    service.persist().await;
    drop_set(&service, &activity).await;
    // A later rebuilder is at it when the early one comes back.
    let (late, rows, newest) = stalled(&service, &activity).await;
    assert_eq!(rows.len(), 1);
    assert!(!cache.commit(&early, version, 2).await.unwrap());
    assert!(!cache.stage(&early, &likers).await.unwrap());
    assert!(cache.stage(&late, &rows).await.unwrap());
    assert!(cache.commit(&late, newest, 1).await.unwrap());
    let staging: Vec<String> = service.redis(&["KEYS", "*staging*"]).await;
    assert_eq!(staging, Vec::<String>::new());
    let _: i64 = service
        .redis(&["DEL", &service.redis_key("set", &activity)])
        .await;
    assert_eq!(service.at_rest(&activity).await.top, ["Bob"]);
}

// 24, 25
#[tokio::test]
async fn a_rebuild_is_void_once_an_event_waits() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let ada = user("Ada");
    liked_by(&service, &activity, &["Ada"]).await;
    drop_set(&service, &activity).await;
    let cache = service.node.app.cache();
    let (lease, likers, version) = stalled(&service, &activity).await;
    assert!(cache.stage(&lease, &likers).await.unwrap());
    let held: String = service
        .redis(&["GET", &service.redis_key("lease", &activity)])
        .await;
    // A set appears by other means, is changed, and all is persisted, under the same lease.
    let key = service.redis_key("lease", &activity);
    let _: i64 = service.redis(&["DEL", &key]).await;
    service.unlike(&ada, &activity).await;
    service.persist().await;
    let _: String = service.redis(&["SET", &key, &held]).await;
    assert!(!cache.commit(&lease, version, 1).await.unwrap());
    // It is changed, and evicted before anything is persisted.
    service.like(&ada, &activity).await;
    service.unlike(&ada, &activity).await;
    drop_set(&service, &activity).await;
    let _: String = service.redis(&["SET", &key, &held]).await;
    assert!(cache.stage(&lease, &likers).await.unwrap());
    assert!(!cache.commit(&lease, version, 1).await.unwrap());
    assert!(matches!(
        cache.begin(key_of(&activity)).await.unwrap(),
        Begun::Pending
    ));
    assert!(!service.details(Some(&ada), &activity).await.liked);
    assert_eq!(service.at_rest(&activity).await.count, 0);
}

// 25, beside what race.rs tries
#[tokio::test]
async fn a_change_of_a_set_that_went_too_early_waits_for_the_worker() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    liked_by(&service, &activity, &["Ada"]).await;
    service.unlike(&user("Ada"), &activity).await;
    drop_set(&service, &activity).await;
    // No worker comes: it is refused, and nothing has happened.
    let bob = user("Bob");
    let refused = service
        .try_change(&service.node, "toggleLike", &bob, &activity, None)
        .await;
    assert_eq!(refused["errors"][0]["extensions"]["code"], "UNAVAILABLE");
    assert_eq!(refused["errors"][0]["extensions"]["outcome"], "not_applied");
    assert_eq!(service.events(&activity).await.len(), 1);
    let toggled = async { Details::of(&service.toggle(&bob, &activity).await["activity"]) };
    let worked = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        service.persist().await
    };
    let (toggled, worked) = futures::join!(toggled, worked);
    assert_eq!((toggled.top, worked), (vec!["Bob".to_owned()], 1));
    assert_eq!(service.at_rest(&activity).await.count, 1);
}

// 26
#[tokio::test]
async fn set_count_and_order_are_one_key() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    service.like(&user("Ada"), &activity).await;
    let mut keys: Vec<String> = service.redis(&["KEYS", "*"]).await;
    keys.sort();
    let names = ["events", "pending", "set"];
    assert_eq!(keys, names.map(|name| service.redis_key(name, &activity)));
    // What waits for SQL must not be thrown away; what SQL has, may be.
    let expiry = async || service.redis::<i64>(&["PTTL", &keys[2]]).await;
    assert_eq!(expiry().await, -1);
    service.persist().await;
    assert!(expiry().await > 0);
    service.unlike(&user("Ada"), &activity).await;
    assert_eq!(expiry().await, -1);
    service.at_rest(&activity).await;
}

// 32
#[tokio::test]
async fn a_set_without_its_sentinel_is_not_trusted() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    liked_by(&service, &activity, &["Ada", "Bob"]).await;
    let whole = service.details(None, &activity).await;
    let set = service.redis_key("set", &activity);
    for half in [&["ZREM", &set, "-"][..], &["ZREM", &set, "-", "a2"][..]] {
        let _: i64 = service.redis(half).await;
        assert_eq!(service.details(None, &activity).await, whole);
        eventually("the set is whole again", async || {
            service.redis::<i64>(&["ZCARD", &set]).await == 3
        })
        .await;
    }
    let _: i64 = service.redis(&["ZREM", &set, "-", "a2"]).await;
    let liked = service.like(&user("Cleo"), &activity).await;
    assert_eq!(Details::of(&liked["activity"]).top, ["Ada", "Bob", "Cleo"]);
    service.at_rest(&activity).await;
}

// 29
#[tokio::test]
async fn three_hundred_queries_of_a_cold_activity_rebuild_it_once() {
    let service = Service::start(Kind::Postgres).await;
    let other = service.node_at(&service.world.address).await;
    let activity = service.activity().await;
    let users: Vec<User> = (0..40).map(|it| user(&format!("user {it}"))).collect();
    join_all(users.iter().map(|user| service.like(user, &activity))).await;
    service.persist().await;
    drop_set(&service, &activity).await;
    let _: String = service.redis(&["CONFIG", "RESETSTAT"]).await;
    let nodes = [&service.node, &other];
    let body = json!({ "query": "query($id: ID!) { activity(id: $id) { likeCount isLiked } }",
        "variables": { "id": activity } });
    let ask = |it: usize| service.send(nodes[it % 2], Some(&users[it % 40]), body.clone());
    for answer in join_all((0..300).map(ask)).await {
        // A machine that is too slow for so many at once says so.
        if answer.get("errors").is_some() {
            let code = &answer["errors"][0]["extensions"]["code"];
            assert_eq!(code, "UNAVAILABLE", "{answer}");
            continue;
        }
        let right = json!({ "likeCount": 40, "isLiked": true });
        assert_eq!(answer["data"]["activity"], right);
    }
    service.members(&activity).await;
    // A rebuilt set is renamed into place, and nothing else is.
    let stats: String = service.redis(&["INFO", "commandstats"]).await;
    let renamed = stats
        .lines()
        .find(|line| line.starts_with("cmdstat_rename:"));
    assert!(renamed.unwrap().contains("calls=1,"), "{stats}");
    service.at_rest(&activity).await;
    other.stop().await;
}

// 29
#[tokio::test]
async fn a_dead_rebuilder_blocks_no_longer_than_its_lease() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    liked_by(&service, &activity, &["Ada"]).await;
    drop_set(&service, &activity).await;
    let (_, _, _) = stalled(&service, &activity).await;
    let again = service.node.app.cache().begin(key_of(&activity)).await;
    assert!(matches!(again.unwrap(), Begun::Held));
    // Reads do not wait at all, changes for the lease at most.
    let body = json!({ "query": "query($id: ID!) { activity(id: $id) { likeCount } }",
        "variables": { "id": activity } });
    let read = service.send(&service.node, None, body).await;
    assert_eq!(read["data"]["activity"]["likeCount"], 1);
    let lease = service.redis_key("lease", &activity);
    assert!(service.redis::<i64>(&["PTTL", &lease]).await <= 3_000);
    let body = change("likeActivity", &activity, None);
    let liked = service.send(&service.node, Some(&user("Bob")), body).await;
    assert_eq!(liked["data"]["likeActivity"]["activity"]["likeCount"], 2);
    assert_eq!(service.at_rest(&activity).await.count, 2);
}
