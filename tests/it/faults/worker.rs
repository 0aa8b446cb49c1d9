//! What the worker does with odd events, and while SQL is away.

use std::time::Duration;

use likewise::worker::{Options, Place, Step, Worker};
use redis::streams::StreamRangeReply;
use serde_json::{Value, json};

use crate::proxy::{Mode, Proxy};
use crate::servers::Redis;
use crate::service::{Service, eventually, key_of, toggles, user};
use crate::store::Kind;

on_both_databases! {
    bad_events_are_set_aside_and_block_nobody,
    nothing_unread_is_trimmed,
}

// 38
async fn bad_events_are_set_aside_and_block_nobody(kind: Kind) {
    let service = Service::start(kind).await;
    let activity = service.activity().await;
    let [ada, bob, leaver] = ["Ada", "Bob", "Leaver"].map(user);
    service.like(&ada, &activity).await;
    let stream = service.redis_key("events", &activity);
    let key = key_of(&activity).to_string();
    let good = [
        "activity",
        &key,
        "user",
        "1",
        "liked",
        "1",
        "at",
        "1700000000000001",
    ];
    let with = |place: usize, value: &'static str| {
        let mut fields = good.to_vec();
        fields[place] = value;
        fields
    };
    let garbage = [
        vec!["text", "anything"],
        vec!["", ""],
        good.to_vec(),
        with(1, "0"),
        with(1, "9223372036854775808"),
        with(3, "-"),
        with(5, "7"),
        with(7, "99999999999999999999999"),
        with(7, "-1"),
        with(7, "9223372036854775807"),
        with(7, "\u{0}"),
    ];
    for (place, fields) in garbage.iter().enumerate() {
        // All but a few name the one before them, as events do.
        let last: StreamRangeReply = service
            .redis(&["XREVRANGE", &stream, "+", "-", "COUNT", "1"])
            .await;
        let prev = ["prev", &last.ids[0].id];
        let prev = if place < 3 { &[][..] } else { &prev[..] };
        let command = [&["XADD", &stream, "*"], prev, &fields[..]].concat();
        let _: String = service.redis(&command).await;
    }
    // Whoever leaves, and what is deleted, before the worker comes.
    service.like(&leaver, &activity).await;
    let gone = service.activity().await;
    service.like(&ada, &gone).await;
    service
        .world
        .execute("DELETE FROM users WHERE name = 'Leaver'")
        .await;
    let delete = format!("DELETE FROM activities WHERE id = {}", key_of(&gone));
    service.world.execute(&delete).await;
    service.like(&bob, &activity).await;

    service.persist().await;
    let rested = service.at_rest(&activity).await;
    assert_eq!(rested.top, ["Ada", "Bob"]);
    let letters = service.world.store.dead_letters().await.unwrap();
    let count = i64::try_from(garbage.len()).unwrap();
    let wanted = [("activity_gone", 1), ("garbage", count), ("user_gone", 1)];
    assert_eq!(
        letters,
        wanted.map(|(reason, count)| (reason.to_owned(), count))
    );
    assert_eq!(service.redis::<i64>(&["XLEN", &stream]).await, 0);
    let of_gone: Vec<String> = service
        .redis(&["KEYS", &service.redis_key("set", &gone)])
        .await;
    assert_eq!(of_gone, Vec::<String>::new());
}

// 40
async fn nothing_unread_is_trimmed(kind: Kind) {
    let service = Service::start(kind).await;
    let activity = service.activity().await;
    for number in 0..11 {
        service
            .like(&user(&format!("user {number}")), &activity)
            .await;
    }
    let (store, cache) = (
        service.world.store.clone(),
        service.node.app.cache().clone(),
    );
    let partition = cache.partitions().of(key_of(&activity));
    let worker = Worker::new(store, cache, Options { batch: 3 });
    let mut place = Place::new(partition);
    let stream = service.redis_key("events", &activity);
    let mut steps = Vec::new();
    loop {
        let waiting = service.redis::<i64>(&["XLEN", &stream]).await;
        let rows = "SELECT count(*) FROM activities_likes";
        assert_eq!(service.world.number(rows).await + waiting, 11);
        match worker.step(&mut place).await.unwrap() {
            Step::Persisted(entries) => steps.push(entries),
            Step::Idle => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(steps, [3, 3, 3, 2]);
    assert_eq!(service.at_rest(&activity).await.count, 11);
}

// 42
#[tokio::test]
async fn while_sql_is_away_likes_go_on_up_to_a_bound_and_none_is_lost() {
    let arguments = ["--max-backlog", "160"];
    let service = Service::start_with(Kind::Postgres, Redis::start(), &arguments).await;
    let proxy = Proxy::before(&service.world.address).await;
    let address = proxy.address(&service.world.address);
    let node = service.node_at(&address).await;
    let worker = service.program_at(&address, "worker", &[]);
    let metrics = worker.address("metrics").await;
    let activity = service.activity().await;
    let ada = user("Ada");
    let toggle = async |count| {
        service
            .send(&node, Some(&ada), toggles(&activity, count))
            .await
    };
    assert_eq!(toggle(2).await.get("errors"), None);

    proxy.set(Mode::Cut);
    // Of one partition, an eighth of the bound may wait.
    let mut accepted = 2;
    let refused = loop {
        let answer = toggle(1).await;
        if answer.get("errors").is_some() {
            break answer;
        }
        accepted += 1;
        assert!(accepted <= 22, "the backlog is not bounded");
    };
    let extensions = &refused["errors"][0]["extensions"];
    assert_eq!(
        (&extensions["code"], &extensions["outcome"]),
        (&json!("UNAVAILABLE"), &json!("not_applied"))
    );
    assert!(accepted >= 20, "{accepted} {refused}");
    let metric = async |name: &str| {
        let text = reqwest::get(format!("http://{metrics}/metrics"))
            .await
            .unwrap();
        let text = text.text().await.unwrap();
        let line = text.lines().find(|line| line.starts_with(name));
        line.map_or(0.0, |line| {
            line.split(' ').next_back().unwrap().parse().unwrap()
        })
    };
    eventually("the lag is visible", async || {
        metric("likewise_events_backlog ").await >= 20.0
            && metric("likewise_oldest_event_age_seconds ").await > 0.0
            && metric("likewise_worker_failures_total").await > 0.0
    })
    .await;

    proxy.mend();
    let stream = service.redis_key("events", &activity);
    eventually("the backlog drains", async || {
        service.redis::<i64>(&["XLEN", &stream]).await == 0
    })
    .await;
    let liked = toggle(1).await;
    assert_eq!(liked["data"]["t0"]["liked"], accepted % 2 == 0);
    assert_eq!(service.at_rest(&activity).await.count, (accepted + 1) % 2);
    node.stop().await;
}

// 42: a database that neither answers nor breaks must not stop likes of what is known either.
#[tokio::test]
async fn while_sql_hangs_likes_of_warm_activities_are_answered_at_once() {
    let service = Service::start(Kind::Postgres).await;
    let proxy = Proxy::before(&service.world.address).await;
    let node = service
        .node_at(&proxy.address(&service.world.address))
        .await;
    let activity = service.activity().await;
    let ada = user("Ada");
    service.send(&node, Some(&ada), toggles(&activity, 1)).await;
    proxy.set(Mode::Held);
    let answer = service.send(&node, Some(&ada), toggles(&activity, 10));
    let answer = tokio::time::timeout(Duration::from_secs(4), answer)
        .await
        .unwrap();
    assert_eq!(answer.get("errors"), None::<&Value>);
    proxy.mend();
    assert_eq!(service.at_rest(&activity).await.count, 1);
    node.stop().await;
}
