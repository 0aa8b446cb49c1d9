//! Redis away, frozen, restarted or full.

use std::time::{Duration, Instant};

use futures::future::join_all;
use futures::{StreamExt, stream};
use serde_json::{Value, json};

use crate::proxy::Proxy;
use crate::servers::Redis;
use crate::service::{Details, LIKES, Service, change, eventually, user};
use crate::store::Kind;

/// What an answer has to arrive in while Redis is away: a second, and more for slow machines, which is still
/// less than requests without a bound would take.
const BOUND: Duration = Duration::from_secs(5);

async fn read(service: &Service, activity: &str) -> Value {
    let query = format!("query($id: ID!) {{ activity(id: $id) {{ {LIKES} }} }}");
    let body = json!({ "query": query, "variables": { "id": activity } });
    service.send(&service.node, Some(&user("Ada")), body).await
}

fn is_from_sql(answer: &Value) -> bool {
    answer["extensions"]["likes"] == json!({ "source": "sql", "complete": false })
}

// 32
#[tokio::test]
async fn a_frozen_redis_delays_answers_by_a_second_at_most() {
    let arguments = ["--redis-timeout", "500ms"];
    let mut service = Service::start_with(Kind::Sqlite, Redis::start(), &arguments).await;
    let activity = service.activity().await;
    let [ada, bob] = ["Ada", "Bob"].map(user);
    service.like(&ada, &activity).await;
    service.persist().await;
    let whole = service.details(Some(&ada), &activity).await;
    service.redis.freeze();
    for _ in 0..3 {
        let begun = Instant::now();
        let reads = join_all((0..10).map(|_| read(&service, &activity)));
        let toggle = || service.try_keyed("toggleLike", &bob, &activity, "k");
        let (reads, changes) = futures::join!(reads, join_all((0..10).map(|_| toggle())));
        assert!(begun.elapsed() < BOUND, "{:?}", begun.elapsed());
        for answer in reads {
            assert!(is_from_sql(&answer), "{answer}");
            assert_eq!(Details::of(&answer["data"]["activity"]), whole);
        }
        for answer in changes {
            assert_eq!(answer["errors"][0]["extensions"]["code"], "UNAVAILABLE");
        }
    }
    service.redis.thaw();
    // Some of the changes may have happened, but with one key only once.
    eventually("changes are accepted again", async || {
        let answer = service.try_keyed("toggleLike", &bob, &activity, "k").await;
        answer["data"]["toggleLike"]["liked"] == true
    })
    .await;
    no_more_errors(&service, &activity).await;
    assert_eq!(service.at_rest(&activity).await.top, ["Ada", "Bob"]);
}

/// Whether the node says that it is ready, and how it finds Redis.
async fn ready(service: &Service) -> (u16, Value) {
    let url = format!("http://{}/readyz", service.node.metrics);
    let answer = reqwest::get(url).await.unwrap();
    let status = answer.status().as_u16();
    let report: Value = answer.json().await.unwrap();
    let checks = report["checks"].as_array().unwrap();
    let redis = checks.iter().find(|check| check["name"] == "redis");
    (status, redis.unwrap()["status"].clone())
}

/// Every connection of the pool works again: many requests in a row are answered as if nothing had been.
async fn no_more_errors(service: &Service, activity: &str) {
    let bob = user("Bob");
    let one = async |turn: usize| {
        let (here, liker) = (&service.node, &bob);
        if turn.is_multiple_of(2) {
            let answer = read(service, activity).await;
            return !is_from_sql(&answer) && answer.get("errors").is_none();
        }
        let like = service.try_change(here, "likeActivity", liker, activity, None);
        like.await.get("errors").is_none()
    };
    // On a slow machine one of them may take too long, but not one of every many.
    eventually("no request fails", async || {
        let asked = stream::iter(0..60).map(one).buffer_unordered(6);
        asked.all(async |is_good| is_good).await
    })
    .await;
}

// 32
#[tokio::test]
async fn a_redis_that_is_away_is_answered_for_by_sql_and_one_that_is_back_is_used_at_once() {
    let redis = Redis::start_durable();
    let mut service = Service::start_with(Kind::Sqlite, redis, &[]).await;
    let activity = service.activity().await;
    let [ada, bob] = ["Ada", "Bob"].map(user);
    service.like(&ada, &activity).await;
    service.persist().await;
    service.like(&bob, &activity).await;
    for round in 0..3 {
        if round == 1 {
            service.redis.stop();
        } else {
            service.redis.kill();
        }
        let begun = Instant::now();
        let (read_meanwhile, refused) = futures::join!(
            read(&service, &activity),
            service.try_keyed("unlikeActivity", &bob, &activity, "away")
        );
        assert!(begun.elapsed() < BOUND, "{:?}", begun.elapsed());
        // SQL does not have Bob's like yet, and says so.
        assert!(is_from_sql(&read_meanwhile));
        let details = Details::of(&read_meanwhile["data"]["activity"]);
        assert_eq!(details.top, ["Ada"]);
        let extensions = &refused["errors"][0]["extensions"];
        assert_eq!(extensions["code"], "UNAVAILABLE");
        assert_eq!(ready(&service).await, (503, "down".into()));
        service.redis.start_again();
        eventually("Redis is used again", async || {
            !is_from_sql(&read(&service, &activity).await)
        })
        .await;
        assert_eq!(ready(&service).await, (200, "up".into()));
        no_more_errors(&service, &activity).await;
        assert_eq!(service.details(None, &activity).await.top, ["Ada", "Bob"]);
    }
    assert_eq!(service.at_rest(&activity).await.count, 2);
}

#[tokio::test]
async fn connections_that_redis_has_closed_are_replaced() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let ada = user("Ada");
    service.like(&ada, &activity).await;
    join_all((0..40).map(|_| read(&service, &activity))).await;
    let _: i64 = service
        .redis(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"])
        .await;
    // A request may meet a connection in the moment of its end; none meets it twice.
    let mut failed = 0;
    eventually("all is well again", async || {
        let answer = service
            .try_change(&service.node, "likeActivity", &ada, &activity, None)
            .await;
        failed += usize::from(answer.get("errors").is_some());
        answer.get("errors").is_none()
    })
    .await;
    assert!(failed <= 4, "more failures than connections: {failed}");
    no_more_errors(&service, &activity).await;
    service.at_rest(&activity).await;
}

#[tokio::test]
async fn connections_that_have_gone_silent_are_given_up_and_replaced() {
    let arguments = ["--redis-timeout", "500ms"];
    let mut service = Service::start_with(Kind::Sqlite, Redis::start(), &arguments).await;
    let wire = Proxy::before(&service.redis.url()).await;
    let fresh = service.node_by(&wire.address(&service.redis.url())).await;
    std::mem::replace(&mut service.node, fresh).stop().await;
    let activity = service.activity().await;
    service.like(&user("Bob"), &activity).await;
    join_all((0..40).map(|_| read(&service, &activity))).await;
    wire.stall();
    let answers = join_all((0..40).map(|_| read(&service, &activity))).await;
    assert!(answers.iter().any(is_from_sql));
    eventually("Redis is used again", async || {
        !is_from_sql(&read(&service, &activity).await)
    })
    .await;
    no_more_errors(&service, &activity).await;
    service.at_rest(&activity).await;
}

#[tokio::test]
async fn a_full_redis_refuses_changes_whole_answers_reads_and_is_emptied() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let [ada, bob] = ["Ada", "Bob"].map(user);
    service.like(&ada, &activity).await;
    service.like(&bob, &activity).await;
    service.unlike(&bob, &activity).await;
    let whole = read(&service, &activity).await;
    let _: String = service.redis(&["CONFIG", "SET", "maxmemory", "1"]).await;
    for mutation in ["toggleLike", "likeActivity"] {
        let body = change(mutation, &activity, Some("k"));
        let answer = service.send(&service.node, Some(&bob), body).await;
        let extensions = &answer["errors"][0]["extensions"];
        assert_eq!(extensions["code"], "UNAVAILABLE", "{answer}");
        assert_eq!(extensions["outcome"], "not_applied");
    }
    assert_eq!(read(&service, &activity).await, whole);
    assert_eq!(service.events(&activity).await.len(), 3);
    // The worker takes out what fills it.
    service.node.work();
    let stream = service.redis_key("events", &activity);
    eventually("the events are persisted", async || {
        service.redis::<i64>(&["XLEN", &stream]).await == 0
    })
    .await;
    let _: String = service.redis(&["CONFIG", "SET", "maxmemory", "0"]).await;
    service
        .change("toggleLike", &bob, &activity, Some("k"))
        .await;
    assert_eq!(service.at_rest(&activity).await.top, ["Ada", "Bob"]);
}
