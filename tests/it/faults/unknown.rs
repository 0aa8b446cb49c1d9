//! Likes of what does not exist, and requests that must not change anything.

use std::time::Instant;

use futures::future::join_all;

use crate::proxy::Proxy;
use crate::service::{Service, change, id_of, user, user_id_of};
use crate::store::Kind;

const MUTATIONS: [&str; 3] = ["toggleLike", "likeActivity", "unlikeActivity"];

// 11
#[tokio::test]
async fn likes_of_what_does_not_exist_are_refused_and_leave_nothing() {
    let service = Service::start(Kind::Sqlite).await;
    let ada = user("Ada");
    let bad = "BAD_USER_INPUT";
    for (id, wanted) in [
        (id_of(999_999), "NOT_FOUND"),
        (id_of(i64::MAX), "NOT_FOUND"),
        (id_of(-1), bad),
        (id_of(0), bad),
        (id_of("01"), bad),
        (id_of("1:1"), bad),
        (id_of(9_223_372_036_854_775_808_u64), bad),
        (user_id_of(1), bad),
        (String::new(), bad),
        ("7".to_owned(), bad),
        ("Activity:7".to_owned(), bad),
        ("text ' OR 1=1 --".to_owned(), bad),
    ] {
        for mutation in MUTATIONS {
            let answer = service
                .try_change(&service.node, mutation, &ada, &id, Some("k"))
                .await;
            let error = &answer["errors"][0]["extensions"];
            assert_eq!(error["code"], wanted, "{id:?} {answer}");
            if wanted == bad {
                assert_eq!(error["argument"], "input.activityId");
            }
        }
    }
    let keys: Vec<String> = service.redis(&["KEYS", "*"]).await;
    assert_eq!(keys, Vec::<String>::new());
    assert_eq!(service.persist().await, 0);
    let rows = "SELECT count(*) FROM activities_likes";
    assert_eq!(service.world.number(rows).await, 0);
}

// 11
#[tokio::test]
async fn two_hundred_likes_of_what_does_not_exist_cost_sql_a_look_up_a_second() {
    let service = Service::start(Kind::Postgres).await;
    let proxy = Proxy::before(&service.world.address).await;
    let node = service
        .node_at(&proxy.address(&service.world.address))
        .await;
    let ada = user("Ada");
    let unknown = id_of(999_999);
    let like = || service.try_change(&node, "toggleLike", &ada, &unknown, None);
    // Who Ada is has to be asked once.
    like().await;
    let (before, begun) = (proxy.statements(), Instant::now());
    for _ in 0..10 {
        for answer in join_all((0..20).map(|_| like())).await {
            assert_eq!(answer["errors"][0]["extensions"]["code"], "NOT_FOUND");
        }
    }
    let asked = proxy.statements() - before;
    let seconds = begun.elapsed().as_secs() + 1;
    assert!(asked <= seconds, "{asked} statements in {seconds} s");
    node.stop().await;
}

#[tokio::test]
async fn an_activity_that_was_unknown_a_moment_ago_can_be_liked_once_it_is_made() {
    let service = Service::start(Kind::Sqlite).await;
    let ada = user("Ada");
    let first = service.activity().await;
    let next = id_of(crate::service::key_of(&first).get() + 1);
    let answer = service
        .try_change(&service.node, "toggleLike", &ada, &next, None)
        .await;
    assert_eq!(answer["errors"][0]["extensions"]["code"], "NOT_FOUND");
    assert_eq!(service.activity().await, next);
    service.like(&ada, &next).await;
    assert_eq!(service.at_rest(&next).await.count, 1);
}

// 7; what HTTP does with every kind of request is tried in tests/http.
#[tokio::test]
async fn a_link_or_a_form_changes_nothing() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let ada = user("Ada");
    let client = reqwest::Client::new();
    let body = change("likeActivity", &activity, None).to_string();
    let query =
        format!("mutation {{ likeActivity(input: {{ activityId: {activity:?} }}) {{ liked }} }}");
    let mut link = url::Url::parse(&service.node.url()).unwrap();
    link.query_pairs_mut().append_pair("query", &query);
    let form = link.query().unwrap().to_owned();
    let post = |content_type: &str, body: String| {
        let request = client.post(service.node.url());
        request.header("content-type", content_type).body(body)
    };
    let form = post("application/x-www-form-urlencoded", form);
    let (get, text) = (client.get(link), post("text/plain", body));
    for (request, status) in [(get, 405), (form, 415), (text, 415)] {
        let answer = request.bearer_auth(&ada.token).send().await.unwrap();
        assert_eq!(answer.status(), status);
    }
    assert!(service.events(&activity).await.is_empty());
    assert_eq!(service.at_rest(&activity).await.count, 0);
}
