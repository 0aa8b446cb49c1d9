//! Pages that stay right while likes come and go.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::service::{Service, User, id_of, user};
use crate::store::Kind;

on_both_databases! {
    a_deleted_user_leaves_no_gap_and_takes_no_name_along,
}

/// A page of likers: names, and where it ends on the wanted side.
async fn page(service: &Service, activity: &str, arguments: &str) -> (Vec<String>, Option<String>) {
    let query = format!(
        "query($id: ID!) {{ activity(id: $id) {{ likers({arguments}) {{ nodes {{ name }}
            pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }} }}"
    );
    let data = service.query(None, &query, json!({ "id": activity })).await;
    let page = &data["activity"]["likers"];
    let info = &page["pageInfo"];
    let (more, end) = if arguments.starts_with("first") {
        ("hasNextPage", "endCursor")
    } else {
        ("hasPreviousPage", "startCursor")
    };
    let end = info[end].as_str().filter(|_| info[more] == true);
    let names = page["nodes"].as_array().unwrap().iter();
    let names = names.map(|node| node["name"].as_str().unwrap().to_owned());
    (names.collect(), end.map(str::to_owned))
}

fn crowd(name: &str, count: usize) -> Vec<User> {
    (0..count).map(|it| user(&format!("{name} {it}"))).collect()
}

// 20
#[tokio::test]
async fn paging_neither_repeats_nor_skips_while_likes_come_and_go() {
    for (size, cursor, is_cold) in [
        ("first: 7", "after", false),
        ("last: 7", "before", false),
        ("first: 7", "after", true),
        ("last: 7", "before", true),
    ] {
        let service = Service::start(Kind::Sqlite).await;
        let activity = service.activity().await;
        let old = crowd("old", 30);
        for user in &old {
            service.like(user, &activity).await;
        }
        let set = service.redis_key("set", &activity);
        let mut left: HashSet<String> = HashSet::new();
        let mut seen: Vec<String> = Vec::new();
        let mut at = String::new();
        for turn in 0.. {
            if is_cold {
                service.persist().await;
                let _: i64 = service.redis(&["DEL", &set]).await;
            }
            let (names, end) = page(&service, &activity, &format!("{size}{at}")).await;
            // The member of the cursor leaves, and others come in at the end.
            let last = if cursor == "after" {
                names.last()
            } else {
                names.first()
            };
            let last = last.unwrap().clone();
            service.unlike(&user(&last), &activity).await;
            left.insert(last);
            service.like(&user(&format!("new {turn}")), &activity).await;
            if cursor == "after" {
                seen.extend(names);
            } else {
                seen.splice(0..0, names);
            }
            let Some(end) = end else { break };
            at = format!(", {cursor}: {end:?}");
        }
        let of_old: Vec<_> = seen.iter().filter(|name| name.starts_with("old")).collect();
        let wanted: Vec<_> = old.iter().map(|user| &user.name).collect();
        assert_eq!(of_old, wanted, "{size}");
        assert_eq!(seen.iter().collect::<HashSet<_>>().len(), seen.len());
        assert!(left.len() >= 5);
        service.at_rest(&activity).await;
    }
}

// 20
#[tokio::test]
async fn the_feed_and_what_a_user_likes_are_paged_by_places_too() {
    let service = Service::start(Kind::Sqlite).await;
    let ada = user("Ada");
    let mut made = Vec::new();
    for _ in 0..11 {
        let activity = service.activity().await;
        service.like(&ada, &activity).await;
        made.insert(0, activity);
    }
    service.persist().await;
    for list in ["activities", "viewer { likedActivities"] {
        let close = if list.contains('{') { "}" } else { "" };
        let (mut seen, mut at) = (Vec::new(), String::new());
        loop {
            let query = format!(
                "{{ {list}(first: 4{at}) {{ nodes {{ id }} pageInfo {{ endCursor hasNextPage }} }} {close} }}"
            );
            let data = service.query(Some(&ada), &query, json!({})).await;
            let page = data
                .get("activities")
                .unwrap_or(&data["viewer"]["likedActivities"]);
            let ids = page["nodes"].as_array().unwrap().iter();
            seen.extend(ids.map(|node| node["id"].as_str().unwrap().to_owned()));
            // The newest comes first, so each new one would shift everything.
            let newest = service.activity().await;
            service.like(&ada, &newest).await;
            service.persist().await;
            if page["pageInfo"]["hasNextPage"] == false {
                break;
            }
            at = format!(", after: {}", page["pageInfo"]["endCursor"]);
        }
        let wanted = made.iter().filter(|id| seen.contains(id));
        assert_eq!(wanted.collect::<Vec<_>>(), made.iter().collect::<Vec<_>>());
        assert_eq!(seen.iter().collect::<HashSet<_>>().len(), seen.len());
    }
}

// 21
#[tokio::test]
async fn wrong_sizes_and_cursors_are_refused_by_name_and_none_is_a_bounded_page() {
    let service = Service::start(Kind::Sqlite).await;
    let (activity, other) = (service.activity().await, service.activity().await);
    for user in crowd("user", 25) {
        service.like(&user, &activity).await;
        service.like(&user, &other).await;
    }
    let (_, foreign) = page(&service, &other, "first: 3").await;
    let (foreign, own) = (
        foreign.unwrap(),
        page(&service, &activity, "first: 3").await.1.unwrap(),
    );
    for (arguments, wrong) in [
        ("first: -1".to_owned(), "first"),
        ("first: 0".to_owned(), "first"),
        ("first: 101".to_owned(), "first"),
        ("first: 2147483648".to_owned(), "first"),
        ("first: 9007199254740993".to_owned(), "first"),
        ("last: -1".to_owned(), "last"),
        ("last: 101".to_owned(), "last"),
        ("first: 5, last: 5".to_owned(), "last"),
        ("first: 5, after: \"\"".to_owned(), "after"),
        ("first: 5, after: \"garbage\"".to_owned(), "after"),
        (format!("first: 5, after: \"{foreign}\""), "after"),
        (format!("last: 5, before: \"{foreign}\""), "before"),
        (format!("first: 5, after: \"{own}=\""), "after"),
        (format!("first: 5, after: {:?}", id_of(1)), "after"),
    ] {
        let query = format!(
            "query($id: ID!) {{ activity(id: $id) {{ likers({arguments}) {{ nodes {{ id }} }} }} }}"
        );
        let body = json!({ "query": query, "variables": { "id": activity } });
        let answer = service.send(&service.node, None, body).await;
        let extensions = &answer["errors"][0]["extensions"];
        assert_eq!(extensions["code"], "BAD_USER_INPUT", "{arguments} {answer}");
        assert_eq!(extensions["argument"], wrong, "{arguments} {answer}");
    }
    let neither = "query($id: ID!) { activity(id: $id) { likers { nodes { id } } } }";
    let data = service
        .query(None, neither, json!({ "id": activity }))
        .await;
    assert_eq!(
        data["activity"]["likers"]["nodes"]
            .as_array()
            .unwrap()
            .len(),
        20
    );
    for first in [-1_i64, 51, 2_147_483_648] {
        let query =
            format!("{{ activity(id: {activity:?}) {{ topLikers(first: {first}) {{ id }} }} }}");
        assert_eq!(
            service.code(None, &query, json!({})).await,
            "BAD_USER_INPUT"
        );
    }
}

// 23
async fn a_deleted_user_leaves_no_gap_and_takes_no_name_along(kind: Kind) {
    let mut service = Service::start(kind).await;
    let activity = service.activity().await;
    let users = crowd("user", 4);
    for user in &users {
        service.like(user, &activity).await;
    }
    service.persist().await;
    // Keys from 1 are the author's, then theirs in order.
    service
        .world
        .execute("DELETE FROM users WHERE name = 'user 1'")
        .await;
    let query = "query($id: ID!) { activity(id: $id) { topLikers(first: 2) { name }
        one: likers(first: 2) { nodes { name } edges { likedAt node { name } } }
        two: likers(last: 3) { nodes { name } } } }";
    let mut before = Value::Null;
    for path in ["the set", "no set", "no Redis"] {
        match path {
            "no set" => {
                let set = service.redis_key("set", &activity);
                let _: i64 = service.redis(&["DEL", &set]).await;
            }
            "no Redis" => service.redis.kill(),
            _ => {}
        }
        let data = service.query(None, query, json!({ "id": activity })).await;
        let names = |numbers: &[usize]| {
            let nodes = numbers
                .iter()
                .map(|it| json!({ "name": format!("user {it}") }));
            Value::from(nodes.collect::<Vec<_>>())
        };
        let data = &data["activity"];
        assert_eq!(data["topLikers"], names(&[0, 2]), "{path}");
        assert_eq!(data["one"]["nodes"], names(&[0, 2]), "{path}");
        assert_eq!(data["two"]["nodes"], names(&[0, 2, 3]), "{path}");
        if before != Value::Null {
            assert_eq!(data["one"]["edges"], before, "{path}");
        }
        before = data["one"]["edges"].clone();
    }
}
