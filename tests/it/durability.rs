//! When a like is acknowledged: once it is in Redis, or once Redis has it on its disk.

use std::time::Duration;

use clap::Parser;
use futures::future::join_all;
use likewise::app::{App, Error};
use serde_json::Value;

use crate::proxy::{Mode, Proxy};
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
    let seldom = Redis::start_valkey(&["--appendonly", "yes", "--appendfsync", "everysec"]);
    assert!(refusal(&seldom).await.contains("say too early"));
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

#[tokio::test]
async fn changes_at_the_same_time_wait_for_the_disk_together() {
    let redis = Redis::start_valkey(&["--appendonly", "yes", "--appendfsync", "always"]);
    let service = Service::start_with(Kind::Sqlite, redis, &FSYNC).await;
    let url = service.redis.url();
    let proxy = Proxy::before(&url).await;
    let node = service.node_by(&proxy.address(&url)).await;
    let activity = service.activity().await;
    let users: Vec<_> = (0..40)
        .map(|number| user(&format!("user {number}")))
        .collect();
    let like = |user| service.try_change(&node, "likeActivity", user, &activity, None);
    like(&users[0]).await;
    let _: String = service.redis(&["CONFIG", "RESETSTAT"]).await;
    proxy.set(Mode::Held);
    let release = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        proxy.mend();
    };
    let likes = join_all(users[1..].iter().map(like));
    let (likes, ()) = tokio::join!(likes, release);
    for answer in likes {
        assert_eq!(answer["data"]["likeActivity"]["liked"], true, "{answer}");
    }
    let stats: String = service.redis(&["INFO", "commandstats"]).await;
    let calls = stats.split_once("cmdstat_waitaof:calls=").unwrap().1;
    let calls: u32 = calls.split(',').next().unwrap().parse().unwrap();
    assert!((1..=8).contains(&calls), "{calls} waits for 39 changes");
    assert_eq!(service.at_rest(&activity).await.count, 40);
    node.stop().await;
}

#[tokio::test]
async fn a_node_is_not_ready_while_redis_cannot_keep_what_it_promises() {
    let redis = Redis::start_valkey(&["--appendonly", "yes", "--appendfsync", "always"]);
    let service = Service::start_with(Kind::Sqlite, redis, &FSYNC).await;
    let status = async || {
        let url = format!("http://{}/readyz", service.node.api);
        reqwest::get(url).await.unwrap().status()
    };
    assert_eq!(status().await, 200);
    for when in ["everysec", "no"] {
        let _: String = service.redis(&["CONFIG", "SET", "appendfsync", when]).await;
        assert_eq!(status().await, 503);
        let text = readyz(&service).await;
        assert!(
            text.contains(&format!(
                "LIKEWISE_DURABILITY is fsync, but appendfsync is {when}"
            )),
            "{text}"
        );
    }
    let _: String = service
        .redis(&["CONFIG", "SET", "appendfsync", "always"])
        .await;
    assert_eq!(status().await, 200);
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
    assert_eq!(
        answer["errors"][0]["extensions"]["outcome"], "unknown",
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
