//! Documents, types, and what is left of a deleted activity.

use std::collections::{HashMap, HashSet};

use likewise::cache::Begun;
use serde_json::{Value, json};

use crate::service::{Service, id_of, key_of, toggles, user, user_id_of};
use crate::store::Kind;

on_both_databases! {
    a_deleted_activity_leaves_nothing_behind,
}

// 43; that a cluster takes these keys is tried on a cluster.
#[tokio::test]
async fn keys_of_one_script_share_a_slot_and_partitions_share_the_load() {
    let service = Service::start(Kind::Sqlite).await;
    let ada = user("Ada");
    let mut activities = HashMap::new();
    for _ in 0..64 {
        let activity = service.activity().await;
        service
            .change("toggleLike", &ada, &activity, Some("k"))
            .await;
        let Ok(Begun::Exists) = service.node.app.cache().begin(key_of(&activity)).await else {
            panic!("no set");
        };
        let set = service.redis_key("set", &activity);
        let tag = set.split_inclusive('}').next().unwrap().to_owned();
        activities.insert(key_of(&activity).to_string(), tag);
    }
    let keys: Vec<String> = service.redis(&["KEYS", "*"]).await;
    assert!(keys.len() > 128);
    for key in &keys {
        let (tag, rest) = key.split_at(key.find('}').unwrap() + 1);
        // Sets and idempotency keys name their activity, and all others are a partition's.
        if let Some(activity) = rest.split(':').nth(2) {
            assert_eq!(activities[activity], tag, "{key}");
        }
    }
    let tags: HashSet<_> = activities.values().collect();
    assert_eq!(tags.len(), 8);
    let on = |tag: &String| activities.values().filter(|it| *it == tag).count();
    assert!(
        tags.iter().all(|tag| (2..=20).contains(&on(tag))),
        "{activities:?}"
    );
}

// 46
#[tokio::test]
async fn activities_whose_keys_are_users_keys_stay_activities() {
    let service = Service::start(Kind::Sqlite).await;
    let mut activities = Vec::new();
    for number in 1..=6 {
        let name = format!("user {number}");
        let query = "mutation($t: String!) { createActivity(input: { title: $t }) { activity { id author { id name } } } }";
        let title = format!("activity {number}");
        let data = service
            .query(Some(&user(&name)), query, json!({ "t": title }))
            .await;
        activities.push(data["createActivity"]["activity"].clone());
    }
    // Both kinds of keys count from 1.
    for (place, activity) in activities.iter().enumerate() {
        assert_eq!(activity["id"], id_of(place + 1));
        assert_eq!(activity["author"]["id"], user_id_of(place + 1));
    }
    service.like(&user("user 3"), &id_of(2)).await;
    let ids: Vec<_> = (1..=6)
        .flat_map(|key| [id_of(key), user_id_of(key)])
        .collect();
    let query = "query($ids: [ID!]!) { nodes(ids: $ids) { __typename id
        ... on Activity { title likeCount author { name } } ... on User { name } } }";
    let nodes = service.query(None, query, json!({ "ids": ids })).await;
    for (place, node) in nodes["nodes"].as_array().unwrap().iter().enumerate() {
        let number = place / 2 + 1;
        let name = format!("user {number}");
        let wanted = if place % 2 == 0 {
            json!({ "__typename": "Activity", "id": id_of(number), "title": format!("activity {number}"),
                "likeCount": i32::from(number == 2), "author": { "name": name } })
        } else {
            json!({ "__typename": "User", "id": user_id_of(number), "name": name })
        };
        assert_eq!(*node, wanted);
    }
    let wrong = "query($id: ID!) { activity(id: $id) { id } }";
    let code = service
        .code(None, wrong, json!({ "id": user_id_of(1) }))
        .await;
    assert_eq!(code, "BAD_USER_INPUT");
}

// 51
#[tokio::test]
async fn documents_that_cost_too_much_are_refused_before_their_first_change() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let ada = user("Ada");
    let many = toggles(&activity, 500);
    let batch = Value::from(vec![toggles(&activity, 1); 20]);
    let spread = format!(
        "mutation {{ {} }} fragment F on Mutation {{ {} }}",
        "...F ".repeat(3),
        toggles(&activity, 60)["query"]
            .as_str()
            .unwrap()
            .trim_start_matches("mutation { ")
            .trim_end_matches('}')
    );
    let inside = "{ activities(first: 100) { nodes { likers(first: 100) { nodes { likedActivities(first: 100) { nodes { id } } } } } } }";
    let aliases: String = (0..500)
        .map(|it| format!("a{it}: activity(id: {activity:?}) {{ likeCount }} "))
        .collect();
    let refused = [
        many,
        batch,
        json!({ "query": spread }),
        json!({ "query": inside }),
        json!({ "query": format!("{{ {aliases} }}") }),
    ];
    for body in refused {
        let answer = service.send(&service.node, Some(&ada), body.clone()).await;
        assert_eq!(
            answer["errors"][0]["extensions"]["code"], "BAD_USER_INPUT",
            "{answer}"
        );
        assert_eq!(answer.get("data").unwrap_or(&Value::Null), &Value::Null);
    }
    assert!(service.events(&activity).await.is_empty());
    // What is within bounds runs, one after the other.
    let answer = service
        .send(&service.node, Some(&ada), toggles(&activity, 21))
        .await;
    assert_eq!(answer["data"]["t20"]["liked"], true);
    assert_eq!(service.at_rest(&activity).await.count, 1);
}

// 54
async fn a_deleted_activity_leaves_nothing_behind(kind: Kind) {
    let service = Service::start(kind).await;
    let (activity, kept) = (service.activity().await, service.activity().await);
    let (ada, bob) = (user("Ada"), user("Bob"));
    for activity in [&activity, &kept] {
        service.like(&ada, activity).await;
        service.like(&bob, activity).await;
    }
    service.persist().await;
    // One event is still under way.
    service.unlike(&ada, &activity).await;
    let Begun::Exists = service
        .node
        .app
        .cache()
        .begin(key_of(&activity))
        .await
        .unwrap()
    else {
        panic!("no set");
    };
    let delete =
        "mutation($id: ID!) { deleteActivity(input: { activityId: $id }) { deletedActivityId } }";
    let id = json!({ "id": activity });
    assert_eq!(
        service.code(Some(&ada), delete, id.clone()).await,
        "FORBIDDEN"
    );
    service
        .query(Some(&user("author")), delete, id.clone())
        .await;
    let author = user("author");
    assert_eq!(
        service.code(Some(&author), delete, id.clone()).await,
        "NOT_FOUND"
    );

    let nothing_left = async || {
        let set = service.redis_key("set", &activity);
        let lease = service.redis_key("lease", &activity);
        assert_eq!(service.redis::<i64>(&["EXISTS", &set, &lease]).await, 0);
        let (pending, key) = (service.redis_key("pending", &activity), key_of(&activity));
        let field = key.to_string();
        assert!(!service.redis::<bool>(&["HEXISTS", &pending, &field]).await);
        let rows = format!("SELECT count(*) FROM activities_likes WHERE activity_id = {key}");
        assert_eq!(service.world.number(&rows).await, 0);
        let gone = "query($id: ID!) { node(id: $id) { id } activity(id: $id) { likeCount } }";
        let data = service.query(Some(&bob), gone, id.clone()).await;
        assert_eq!(data, json!({ "node": null, "activity": null }));
        let liked = "{ viewer { likedActivities { nodes { id } } } }";
        let data = service.query(Some(&bob), liked, json!({})).await;
        let nodes = &data["viewer"]["likedActivities"]["nodes"];
        assert_eq!(*nodes, json!([{ "id": kept }]));
        for mutation in ["toggleLike", "likeActivity", "unlikeActivity"] {
            let answer = service
                .try_change(&service.node, mutation, &bob, &activity, None)
                .await;
            assert_eq!(answer["errors"][0]["extensions"]["code"], "NOT_FOUND");
        }
    };
    nothing_left().await;
    service.persist().await;
    nothing_left().await;
    let stream = service.redis_key("events", &activity);
    assert_eq!(service.redis::<i64>(&["XLEN", &stream]).await, 0);
    assert_eq!(service.at_rest(&kept).await.count, 2);
}
