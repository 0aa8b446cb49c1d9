//! Who asks, and who acts.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::service::{LIKES, Service, User, change, id_of, toggles, user, user_id_of};
use crate::store::Kind;

// 45
#[tokio::test]
async fn nobody_sees_what_another_viewer_likes() {
    let service = Service::start(Kind::Sqlite).await;
    let (activity, other) = (service.activity().await, service.activity().await);
    let [ada, bob] = ["Ada", "Bob"].map(user);
    service.like(&ada, &activity).await;
    service.like(&bob, &other).await;
    let ask = async |viewer: Option<&User>| {
        let query = "query($a: ID!, $b: ID!) { a: activity(id: $a) { isLiked likeRank }
            b: activity(id: $b) { isLiked likeRank } }";
        service
            .query(viewer, query, json!({ "a": activity, "b": other }))
            .await
    };
    let (yes, no) = (
        json!({ "isLiked": true, "likeRank": 1 }),
        json!({ "isLiked": false, "likeRank": null }),
    );
    let asked = join_all((0..120).map(async |turn| {
        let (viewer, wanted) = match turn % 3 {
            0 => (Some(&ada), json!({ "a": yes, "b": no })),
            1 => (Some(&bob), json!({ "a": no, "b": yes })),
            _ => (None, json!({ "a": no, "b": no })),
        };
        assert_eq!(ask(viewer).await, wanted, "{viewer:?}");
    }));
    asked.await;
    // And the next request sees the next state.
    service.unlike(&ada, &activity).await;
    assert_eq!(ask(Some(&ada)).await, json!({ "a": no, "b": no }));
    service.at_rest(&activity).await;
}

// 45: what a mutation has changed is not shown as it was loaded before.
#[tokio::test]
async fn each_mutation_of_a_document_shows_its_own_state() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let (ada, bob) = (user("Ada"), user("Bob"));
    service.like(&bob, &activity).await;
    let query = format!(
        "mutation($i: LikeInput!) {{
            one: toggleLike(input: $i) {{ activity {{ {LIKES} }} }}
            two: toggleLike(input: $i) {{ activity {{ {LIKES} likers {{ nodes {{ name }} }} }} }}
            three: likeActivity(input: $i) {{ changed activity {{ {LIKES} likers {{ nodes {{ name }} }} }} }} }}"
    );
    let variables = json!({ "i": { "activityId": activity } });
    let data = service.query(Some(&ada), &query, variables).await;
    let count = |name: &str| data[name]["activity"]["likeCount"].as_i64().unwrap();
    assert_eq!(["one", "two", "three"].map(count), [2, 1, 2]);
    let likers = |name: &str| {
        data[name]["activity"]["likers"]["nodes"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(["two", "three"].map(likers), [1, 2]);
    service.at_rest(&activity).await;
}

// 52
#[tokio::test]
async fn without_a_viewer_reads_say_false_and_changes_are_refused() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    service.like(&user("Ada"), &activity).await;
    let details = service.details(None, &activity).await;
    assert_eq!(
        (details.count, details.liked, details.rank),
        (1, false, None)
    );
    let viewer = service.query(None, "{ viewer { id } }", json!({})).await;
    assert_eq!(viewer, json!({ "viewer": null }));
    for mutation in ["toggleLike", "likeActivity", "unlikeActivity"] {
        for id in [&activity, &id_of(999), &"garbage".to_owned()] {
            let answer = service
                .send(&service.node, None, change(mutation, id, Some("k")))
                .await;
            assert_eq!(answer["errors"][0]["extensions"]["code"], "UNAUTHENTICATED");
        }
    }
    let forged = User {
        name: "Ada".into(),
        token: user("Ada").token + "x",
    };
    let expired = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJBZGEifQ.";
    let unsigned = User {
        name: "Ada".into(),
        token: expired.into(),
    };
    for bad in [forged, unsigned] {
        for body in [
            json!({ "query": "{ viewer { id } }" }),
            change("toggleLike", &activity, None),
        ] {
            let answer = service.send(&service.node, Some(&bad), body).await;
            assert_eq!(answer["errors"][0]["extensions"]["code"], "UNAUTHENTICATED");
            assert_eq!(answer.get("data"), None);
        }
    }
    assert_eq!(service.events(&activity).await.len(), 1);
    assert_eq!(service.at_rest(&activity).await.count, 1);
    assert_eq!(service.world.number("SELECT count(*) FROM users").await, 2);
}

// 53
#[tokio::test]
async fn who_acts_is_whom_the_token_names_and_nobody_else() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let (ada, bob) = (user("Ada"), user("Bob"));
    service.like(&bob, &activity).await;
    // Names in the input are refused.
    for name in ["userId", "user", "viewer", "viewerId"] {
        let mut body = change("toggleLike", &activity, None);
        body["variables"]["input"][name] = user_id_of(2).into();
        let answer = service.send(&service.node, Some(&ada), body).await;
        assert_eq!(
            answer["errors"][0]["extensions"]["code"], "BAD_USER_INPUT",
            "{answer}"
        );
    }
    // Headers, extensions and operation names are not looked at.
    let mut body = toggles(&activity, 1);
    body["extensions"] = json!({ "userId": user_id_of(2), "sub": "Bob" });
    let request = reqwest::Client::new()
        .post(service.node.url())
        .bearer_auth(&ada.token)
        .header("x-user-id", "2")
        .header("x-forwarded-user", "Bob")
        .header("cookie", format!("token={}", bob.token));
    let answer: Value = request
        .json(&body)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(answer["data"]["t0"]["liked"], true);
    assert_eq!(service.at_rest(&activity).await.top, ["Bob", "Ada"]);
}
