//! The order of likes.

use futures::future::join_all;
use likewise::domain::{Liker, Timestamp, UserId};
use serde_json::json;

use crate::service::{Details, Service, User, key_of, user};
use crate::store::Kind;

on_both_databases! {
    equal_times_are_ordered_by_number_on_every_path,
    the_order_is_the_same_after_a_rebuild,
    likes_are_shown_in_their_order_on_every_path,
}

/// Ten days from now, in microseconds.
fn in_the_future() -> i64 {
    Timestamp::now().0 + 10 * 24 * 3600 * 1_000_000
}

// 16
async fn equal_times_are_ordered_by_number_on_every_path(kind: Kind) {
    let service = Service::start(kind).await;
    let activity = service.activity().await;
    let users = service.world.crowd(110).await;
    let chosen = [100, 9, 10].map(|key| UserId::new(key).unwrap());
    assert!(chosen.iter().all(|key| users.contains(key)));
    let at = Timestamp(1_700_000_000_000_001);
    let likes = chosen.map(|user| (key_of(&activity), Liker { at, user }));
    service.world.store.load_likes(&likes).await.unwrap();
    let names =
        "SELECT CAST(id AS text), name FROM users WHERE id IN (9, 10, 100) ORDER BY users.id";
    let names = service.world.pairs(names).await.into_iter();
    let names: Vec<_> = names.map(|(_, name)| name).collect();
    let cold = service.details(None, &activity).await;
    assert_eq!(cold.top, names);
    let warm = service.at_rest(&activity).await;
    assert_eq!(warm.top, names);
    let page = "query($id: ID!) { activity(id: $id) {
        first: likers(first: 2) { nodes { name } } last: likers(last: 2) { nodes { name } } } }";
    service.members(&activity).await;
    let page = service.query(None, page, json!({ "id": activity })).await;
    let node = |name: &String| json!({ "name": name });
    let page = &page["activity"];
    assert_eq!(
        page["first"]["nodes"],
        json!([node(&names[0]), node(&names[1])])
    );
    assert_eq!(
        page["last"]["nodes"],
        json!([node(&names[1]), node(&names[2])])
    );
}

// 16, 18, 44: versions rise by at least one microsecond, also while Redis' own clock stands or goes back.
#[tokio::test]
async fn likes_that_no_clock_can_tell_apart_keep_their_order_to_the_microsecond() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let first = user("first");
    service.like(&first, &activity).await;
    let ahead = in_the_future();
    let set = service.redis_key("set", &activity);
    let score = format!("-{ahead}");
    let _: i64 = service.redis(&["ZADD", &set, &score, "-"]).await;
    let mut names = vec![first.name];
    for key in (0..12).rev() {
        let user = user(&format!("user {key}"));
        let liked = Details::of(&service.like(&user, &activity).await["activity"]);
        names.push(user.name);
        let place = i64::try_from(names.len()).unwrap() - 1;
        assert_eq!(liked.changed_at_micros(), ahead + place);
    }
    let rested = service.at_rest(&activity).await;
    assert_eq!(rested.top, names);
}

// 17
async fn the_order_is_the_same_after_a_rebuild(kind: Kind) {
    let service = Service::start(kind).await;
    let activity = service.activity().await;
    let users: Vec<User> = (0..30).map(|it| user(&format!("user {it}"))).collect();
    join_all(users.iter().map(|it| service.like(it, &activity))).await;
    let query = "query($id: ID!) { activity(id: $id) { likesChangedAt
        likers(first: 100) { edges { cursor likedAt node { name } } } } }";
    let ask = || service.query(None, query, json!({ "id": activity }));
    let warm = ask().await;
    service.persist().await;
    let set = service.redis_key("set", &activity);
    for _ in 0..2 {
        let _: i64 = service.redis(&["DEL", &set]).await;
        assert_eq!(ask().await, warm);
        service.members(&activity).await;
        assert_eq!(ask().await, warm);
    }
    // 44: all digits arrive.
    let edges = warm["activity"]["likers"]["edges"].as_array().unwrap();
    assert_eq!(edges.len(), 30);
    assert_eq!(edges[29]["likedAt"], warm["activity"]["likesChangedAt"]);
    let digits = |edge: &serde_json::Value| edge["likedAt"].as_str().unwrap().len();
    assert!(
        edges
            .iter()
            .all(|edge| digits(edge) == "2026-01-31T08:00:00.000001Z".len())
    );
    service.at_rest(&activity).await;
}

// 18
#[tokio::test]
async fn redis_says_when_a_like_happened() {
    let service = Service::start(Kind::Sqlite).await;
    let other = service.node_at(&service.world.address).await;
    let activity = service.activity().await;
    let time = async || {
        let (seconds, micros): (i64, i64) = service.redis(&["TIME"]).await;
        seconds * 1_000_000 + micros
    };
    let mut names = Vec::new();
    for place in 0..10 {
        let node = if place % 2 == 0 {
            &service.node
        } else {
            &other
        };
        let user = user(&format!("user {place}"));
        let before = time().await;
        let answer = service
            .try_change(node, "likeActivity", &user, &activity, None)
            .await;
        let liked = Details::of(&answer["data"]["likeActivity"]["activity"]);
        assert!((before..=time().await).contains(&liked.changed_at_micros()));
        names.push(user.name);
    }
    assert_eq!(service.at_rest(&activity).await.top, names);
    other.stop().await;
}

// 19
#[tokio::test]
async fn only_an_unlike_and_a_like_move_a_liker_to_the_end() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let users = ["Ada", "Bob", "Cleo"].map(user);
    for user in &users {
        let key = Some("k");
        service.change("likeActivity", user, &activity, key).await;
    }
    let [ada, ..] = &users;
    let is_first = async || {
        let details = service.details(Some(ada), &activity).await;
        assert_eq!((details.rank, &details.top[0]), (Some(1), &ada.name));
    };
    service.like(ada, &activity).await;
    is_first().await;
    service
        .change("likeActivity", ada, &activity, Some("k"))
        .await;
    is_first().await;
    service.persist().await;
    let set = service.redis_key("set", &activity);
    let _: i64 = service.redis(&["DEL", &set]).await;
    service.like(ada, &activity).await;
    is_first().await;
    service.unlike(ada, &activity).await;
    let last = Details::of(&service.like(ada, &activity).await["activity"]);
    assert_eq!(
        (last.rank, &last.top[..]),
        (Some(3), &["Bob", "Cleo", "Ada"].map(String::from)[..])
    );
    assert_eq!(service.at_rest(&activity).await.top, last.top);
}

// 22
async fn likes_are_shown_in_their_order_on_every_path(kind: Kind) {
    let mut service = Service::start(kind).await;
    let activity = service.activity().await;
    let users: Vec<User> = (1..=9).map(|it| user(&format!("user {it}"))).collect();
    let other = service.activity().await;
    for user in &users {
        service.like(user, &other).await;
    }
    let chosen = [9, 2, 5].map(|number| &users[number - 1]);
    let mut payload = serde_json::Value::Null;
    for user in chosen {
        payload = service.like(user, &activity).await;
    }
    let names = chosen.map(|user| user.name.clone());
    assert_eq!(Details::of(&payload["activity"]).top, names);
    let query = "query($id: ID!) { activity(id: $id) { topLikers { name }
        likers { nodes { name } } backwards: likers(last: 3) { nodes { name } } } }";
    let wanted: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
    let shown = async |service: &Service, path: &str| {
        let data = service.query(None, query, json!({ "id": activity })).await;
        let data = &data["activity"];
        assert_eq!(data["topLikers"], json!(wanted), "{path}");
        assert_eq!(data["likers"]["nodes"], json!(wanted), "{path}");
        assert_eq!(data["backwards"]["nodes"], json!(wanted), "{path}");
    };
    shown(&service, "the set").await;
    let set = service.redis_key("set", &activity);
    let _: i64 = service.redis(&["DEL", &set]).await;
    shown(&service, "no set, and events that wait").await;
    service.persist().await;
    shown(&service, "no set").await;
    service.members(&activity).await;
    shown(&service, "the set rebuilt").await;
    service.at_rest(&activity).await;
    service.redis.kill();
    shown(&service, "no Redis").await;
}
