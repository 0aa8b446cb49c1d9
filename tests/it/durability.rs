//! When a like is acknowledged: once it is in Redis, or once Redis has it on its disk.

use std::time::{Duration, Instant};

use clap::Parser;
use likewise::app::{App, Error};
use serde_json::Value;

use crate::servers::Redis;
use crate::service::{Service, Settings, user};
use crate::store::Kind;

const FSYNC: [&str; 2] = ["--durability", "fsync"];

async fn refusal(redis: &Redis) -> String {
    let arguments = [
        "likewise",
        "--database-url",
        "sqlite:nothing.db",
        "--redis-url",
        &redis.url(),
    ];
    let settings = Settings::parse_from(arguments.into_iter().chain(FSYNC));
    match App::open(&settings.storage).await.err() {
        Some(Error::Setting(invalid)) => invalid.to_string(),
        other => panic!("{other:?}"),
    }
}

async fn readyz(service: &Service) -> String {
    let url = format!("http://{}/readyz", service.node.api);
    let report: Value = reqwest::get(url).await.unwrap().json().await.unwrap();
    let checks = report["checks"].as_array().unwrap().iter();
    let texts = checks
        .filter_map(|check| Some(format!("{}: {}", check["name"], check["message"].as_str()?)));
    texts.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn fsync_is_refused_at_the_start_where_redis_cannot() {
    let forgetful = Redis::start_valkey(&["--appendonly", "no"]);
    assert!(
        refusal(&forgetful)
            .await
            .starts_with("LIKEWISE_DURABILITY is fsync, which needs appendonly yes")
    );
    let never = Redis::start_valkey(&["--appendonly", "yes", "--appendfsync", "no"]);
    assert!(refusal(&never).await.contains("nothing is ever fsynced"));
}

/// Debian's Redis is 7.0; where a newer one is installed there is nothing to refuse.
#[tokio::test]
async fn an_old_redis_refuses_fsync_and_a_new_one_takes_it() {
    let redis = Redis::start_durable();
    let client = redis::Client::open(redis.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut wait = redis::cmd("WAITAOF");
    let is_new = wait
        .arg(0)
        .arg(0)
        .arg(1)
        .exec_async(&mut connection)
        .await
        .is_ok();
    if is_new {
        let service = Service::start_with(Kind::Sqlite, redis, &FSYNC).await;
        let activity = service.activity().await;
        assert_eq!(service.like(&user("Ada"), &activity).await["liked"], true);
    } else {
        assert!(
            refusal(&redis)
                .await
                .contains("needs Redis 7.2 or newer, or Valkey")
        );
    }
}

#[tokio::test]
async fn with_fsync_a_like_is_on_the_disk_when_it_is_acknowledged() {
    let redis = Redis::start_valkey(&["--appendonly", "yes", "--appendfsync", "always"]);
    let mut service = Service::start_with(Kind::Sqlite, redis, &FSYNC).await;
    let activity = service.activity().await;
    service.like(&user("Ada"), &activity).await;
    let text = readyz(&service).await;
    assert!(
        text.contains("fsync: a like is acknowledged when it is on Redis' disk"),
        "{text}"
    );
    assert!(!text.contains("appendfsync"), "{text}");
    let metrics = format!("http://{}/metrics", service.node.metrics);
    let metrics = reqwest::get(metrics).await.unwrap().text().await.unwrap();
    assert!(metrics.contains("likewise_durability{mode=\"fsync\"} 1"));
    service.redis.kill();
    service.redis.start_again();
    assert_eq!(service.details(None, &activity).await.top, ["Ada"]);
    assert_eq!(service.at_rest(&activity).await.top, ["Ada"]);
}

/// Each wait by itself would take a second, and forty in a row forty.
#[tokio::test]
async fn changes_at_the_same_time_wait_for_the_disk_together() {
    let redis = Redis::start_valkey(&["--appendonly", "yes", "--appendfsync", "everysec"]);
    let service = Service::start_with(Kind::Sqlite, redis, &FSYNC).await;
    let activity = service.activity().await;
    let users: Vec<_> = (0..40)
        .map(|number| user(&format!("user {number}")))
        .collect();
    service.like(&users[0], &activity).await;
    let begun = Instant::now();
    let likes = users.iter().map(|user| service.like(user, &activity));
    futures::future::join_all(likes).await;
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(service.at_rest(&activity).await.count, 40);
    let text = readyz(&service).await;
    assert!(text.contains("each change waits up to a second"), "{text}");
}

#[tokio::test]
async fn a_disk_that_does_not_answer_in_time_leaves_the_outcome_unknown() {
    let redis = Redis::start_valkey(&["--appendonly", "yes", "--appendfsync", "always"]);
    let service = Service::start_with(Kind::Sqlite, redis, &FSYNC).await;
    let (ada, activity) = (user("Ada"), service.activity().await);
    service.like(&user("Bob"), &activity).await;
    // From here on nothing is fsynced.
    let _: String = service.redis(&["CONFIG", "SET", "appendfsync", "no"]).await;
    let node = &service.node;
    let answer = service
        .try_change(node, "likeActivity", &ada, &activity, Some("a tap"))
        .await;
    let outcome = &answer["errors"][0]["extensions"]["outcome"];
    // Redis may have fsynced on its way, as it does when it rewrites its file.
    assert!(
        outcome == "unknown" || answer["data"]["likeActivity"]["liked"] == true,
        "{answer}"
    );
    let _: String = service
        .redis(&["CONFIG", "SET", "appendfsync", "always"])
        .await;
    service
        .change("likeActivity", &ada, &activity, Some("a tap"))
        .await;
    assert_eq!(service.at_rest(&activity).await.count, 2);
}

#[tokio::test]
async fn by_default_readyz_says_what_a_power_cut_may_cost() {
    let service = Service::start(Kind::Sqlite).await;
    let text = readyz(&service).await;
    assert!(
        text.contains("a power cut of its machine may cost the last second"),
        "{text}"
    );
    assert!(
        text.contains("appendonly is no: a restart of Redis loses all likes"),
        "{text}"
    );
}
