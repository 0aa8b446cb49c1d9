//! Redis away, frozen, restarted or full.

use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::{Value, json};

use crate::servers::Redis;
use crate::service::{Details, LIKES, Service, change, eventually, user};
use crate::store::Kind;

/// What an answer has to arrive in while Redis is away: a second, and twice as much again for slow machines.
const BOUND: Duration = Duration::from_secs(3);

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

/// Every connection of the pool works again.
async fn no_more_errors(service: &Service, activity: &str) {
    for answer in join_all((0..40).map(|_| read(service, activity))).await {
        assert!(
            !is_from_sql(&answer) && answer.get("errors").is_none(),
            "{answer}"
        );
    }
    let bob = user("Bob");
    let like = || service.try_change(&service.node, "likeActivity", &bob, activity, None);
    for answer in join_all((0..40).map(|_| like())).await {
        assert_eq!(answer.get("errors"), None);
    }
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
        service.redis.start_again();
        eventually("Redis is used again", async || {
            !is_from_sql(&read(&service, &activity).await)
        })
        .await;
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
