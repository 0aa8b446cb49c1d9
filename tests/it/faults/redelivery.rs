//! Workers that die between two steps, and a Redis that comes back older than SQL.

use std::time::Duration;

use likewise::worker::plan::{Plan, plan};

use crate::servers::Redis;
use crate::service::{Service, eventually, key_of, user};
use crate::store::Kind;

on_both_databases! {
    a_worker_that_dies_after_any_step_leaves_what_another_finishes,
    a_redis_older_than_sql_is_healed_by_the_next_event,
}

/// What a worker does to a batch, step by step, after reading it.
const STEPS: [&str; 3] = ["commit", "settle", "trim"];

/// Reads and plans the batch that waits.
async fn taken(service: &Service, activity: &str) -> Plan {
    let cache = service.node.app.cache();
    let partition = cache.partitions().of(key_of(activity));
    let from = service.world.store.checkpoint(partition).await.unwrap();
    let entries = cache.entries(partition, from, 1000).await.unwrap();
    plan(partition, from, &entries).unwrap()
}

async fn carry_out(service: &Service, plan: &Plan, step: &str) {
    let (cache, batch) = (service.node.app.cache(), &plan.batch);
    match step {
        "commit" => drop(service.world.store.persist(batch).await.unwrap()),
        "settle" => cache.settle(batch.partition, &plan.newest).await.unwrap(),
        _ => cache.trim(batch.partition, batch.to).await.unwrap(),
    }
}

// 28, 35: an event that was committed counts once, whatever its worker did not get to.
async fn a_worker_that_dies_after_any_step_leaves_what_another_finishes(kind: Kind) {
    let service = Service::start(kind).await;
    for (done, comes_back) in [0, 1, 2, 3].map(|it| [(it, false), (it, true)]).concat() {
        let activity = service.activity().await;
        let [ada, bob, cleo] = ["Ada", "Bob", "Cleo"].map(user);
        service.like(&ada, &activity).await;
        service.persist().await;
        service.unlike(&ada, &activity).await;
        service.like(&bob, &activity).await;

        let plan = taken(&service, &activity).await;
        for step in &STEPS[..done] {
            carry_out(&service, &plan, step).await;
        }
        assert_eq!(service.details(None, &activity).await.top, ["Bob"]);
        // An expiry that came too early would show here.
        let set = service.redis_key("set", &activity);
        if done < 2 {
            assert_eq!(service.redis::<i64>(&["PTTL", &set]).await, -1);
        }
        service.like(&cleo, &activity).await;
        if comes_back {
            // It was only slow, and goes on when newer events wait.
            for step in &STEPS[done..] {
                carry_out(&service, &plan, step).await;
            }
        }
        assert_eq!(service.redis::<i64>(&["PTTL", &set]).await, -1);
        let rested = service.at_rest(&activity).await;
        assert_eq!(rested.top, ["Bob", "Cleo"], "{done} {comes_back}");
    }
}

// 39
#[tokio::test]
async fn what_a_dead_worker_has_claimed_is_taken_over() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let cache = service.node.app.cache();
    for partition in cache.partitions().all() {
        let hold = Duration::from_secs(3);
        cache.claim(partition, "dead", hold).await.unwrap();
    }
    service.like(&user("Ada"), &activity).await;
    service.node.work();
    let rows = "SELECT count(*) FROM activities_likes";
    eventually("the like is persisted", async || {
        service.world.number(rows).await == 1
    })
    .await;
    service.at_rest(&activity).await;
}

// 27
async fn a_redis_older_than_sql_is_healed_by_the_next_event(kind: Kind) {
    for (is_empty, changes_before_the_worker) in
        [(false, true), (false, false), (true, true), (true, false)]
    {
        let mut service = Service::start(kind).await;
        let activity = service.activity().await;
        let [ada, bob, cleo, dan] = ["Ada", "Bob", "Cleo", "Dan"].map(user);
        service.like(&ada, &activity).await;
        service.like(&bob, &activity).await;
        if !is_empty {
            let _: String = service.redis(&["SAVE"]).await;
        }
        service.persist().await;
        service.unlike(&ada, &activity).await;
        service.like(&cleo, &activity).await;
        service.persist().await;

        service.redis.kill();
        service.redis.start_again();
        let toggled = async || {
            let like = service.try_change(&service.node, "likeActivity", &dan, &activity, None);
            like.await.get("errors").is_none()
        };
        if changes_before_the_worker {
            eventually("a like succeeds", toggled).await;
        }
        eventually("the worker catches up", async || {
            let cache = service.node.app.cache();
            cache.ping().await.is_ok()
        })
        .await;
        service.persist().await;
        if !changes_before_the_worker {
            assert_eq!(service.at_rest(&activity).await.top, ["Bob", "Cleo"]);
            eventually("a like succeeds", toggled).await;
        }
        let rested = service.at_rest(&activity).await;
        assert_eq!(rested.top, ["Bob", "Cleo", "Dan"], "{is_empty}");
        let ada = service.details(Some(&ada), &activity).await;
        assert!(!ada.liked);
    }
}

// 27: what Redis lost before SQL had it is lost, and everything else goes on.
#[tokio::test]
async fn a_redis_that_lost_events_agrees_with_sql_again() {
    let mut service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let [ada, bob, cleo] = ["Ada", "Bob", "Cleo"].map(user);
    service.like(&ada, &activity).await;
    service.persist().await;
    let _: String = service.redis(&["SAVE"]).await;
    service.unlike(&ada, &activity).await;
    service.like(&bob, &activity).await;
    service.redis.kill();
    service.redis.start_again();
    eventually("a like succeeds", async || {
        let like = service.try_change(&service.node, "likeActivity", &cleo, &activity, None);
        like.await.get("errors").is_none()
    })
    .await;
    assert_eq!(service.at_rest(&activity).await.top, ["Ada", "Cleo"]);
}

// 28: the same by dropping the set of the activity that the batch is about, at the worst moment.
#[tokio::test]
async fn a_set_dropped_between_commit_and_settling_is_rebuilt_right() {
    let service = Service::start_with(Kind::Sqlite, Redis::start(), &["--cache-ttl", "1ms"]).await;
    let activity = service.activity().await;
    let [ada, bob] = ["Ada", "Bob"].map(user);
    service.like(&ada, &activity).await;
    service.like(&bob, &activity).await;
    service.unlike(&ada, &activity).await;
    let plan = taken(&service, &activity).await;
    let set = service.redis_key("set", &activity);
    for step in STEPS {
        let _: i64 = service.redis(&["DEL", &set]).await;
        assert_eq!(service.details(Some(&ada), &activity).await.top, ["Bob"]);
        carry_out(&service, &plan, step).await;
        assert_eq!(service.details(Some(&bob), &activity).await.rank, Some(1));
    }
}
