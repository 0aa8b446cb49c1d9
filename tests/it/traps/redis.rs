//! The `redis` crate and bb8: limits of time, connections that break, and what may have happened then.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use redis::AsyncConnectionConfig;
use serde_json::Value;

use crate::service::{Service, eventually, user};
use crate::store::Kind;

/// Far longer than a request may wait for Redis, on a machine under load.
const SLOW: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_naive_blocking_read_ends_after_half_a_second() {
    let server = crate::servers::Redis::start();
    let client = redis::Client::open(server.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut read = redis::cmd("BLPOP");
    read.arg("nothing").arg(5);
    let read = read.exec_async(&mut connection);
    assert!(read.await.unwrap_err().is_timeout());
}

/// Connections are shared: what one request does to the state of a connection, all others would feel.
#[test]
fn nothing_on_shared_connections_blocks_them_or_changes_their_state() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cache");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        for word in [
            "SELECT", "MULTI", "WATCH", "BLPOP", "XREAD", "CLIENT", "BLOCK",
        ] {
            let command = format!("cmd(\"{word}\")");
            assert!(!text.contains(&command), "{word} in {}", path.display());
        }
    }
}

#[tokio::test]
async fn a_naive_connection_stays_broken_and_ours_is_replaced() {
    let mut service = quick().await;
    let client = redis::Client::open(service.redis.url()).unwrap();
    let config = AsyncConnectionConfig::new();
    let naive = client.get_multiplexed_async_connection_with_config(&config);
    let mut naive = naive.await.unwrap();
    let activity = service.activity().await;
    service.like(&user("Ada"), &activity).await;
    service.redis.restart();
    for _ in 0..3 {
        let ping = redis::cmd("PING").exec_async(&mut naive).await;
        assert!(ping.is_err(), "redis has been mended");
    }
    eventually("Redis is back", async || {
        service.node.app.cache().ping().await.is_ok()
    })
    .await;
    let liked = service.like(&user("Bob"), &activity).await;
    assert_eq!(liked["liked"], true);
}

#[tokio::test]
async fn a_change_that_timed_out_may_have_happened_and_its_key_tells() {
    let mut service = quick().await;
    let (ada, activity) = (user("Ada"), service.activity().await);
    service.like(&user("Bob"), &activity).await;
    service.redis.freeze();
    let answer = toggle(&service, &ada, &activity).await;
    assert_eq!(answer["errors"][0]["extensions"]["outcome"], "unknown");
    service.redis.thaw();
    eventually("Redis is back", async || {
        service.node.app.cache().ping().await.is_ok()
    })
    .await;
    // It did happen, once Redis went on; a naive repetition of the toggle would flip it back.
    assert!(service.details(Some(&ada), &activity).await.liked);
    let answer = toggle(&service, &ada, &activity).await;
    assert_eq!(answer["data"]["toggleLike"]["liked"], true, "{answer}");
    assert_eq!(service.at_rest(&activity).await.count, 2);
}

async fn toggle(service: &Service, user: &crate::service::User, activity: &str) -> Value {
    let node = &service.node;
    service
        .try_change(node, "toggleLike", user, activity, Some("a tap"))
        .await
}

/// Takes connections and never answers.
#[tokio::test]
async fn a_stalled_redis_costs_a_quarter_of_a_second_once_and_then_nothing() {
    let stalled = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", stalled.local_addr().unwrap());
    let manager = bb8_naive(&url);
    let pool = bb8::Pool::builder().build_unchecked(manager);
    let naive = tokio::time::timeout(SLOW, pool.get()).await;
    assert!(naive.is_err(), "bb8 waits 30 s unless it is told otherwise");

    let mut service = quick().await;
    let activity = service.activity().await;
    service.like(&user("Ada"), &activity).await;
    service.persist().await;
    service.redis.freeze();
    let (ada, node) = (user("Ada"), &service.node);
    // The first request finds the connections stalled, the second cannot make new ones.
    for _ in 0..8 {
        service
            .try_change(node, "unlikeActivity", &ada, &activity, None)
            .await;
    }
    let begun = Instant::now();
    let mut refused = 0;
    while begun.elapsed() < SLOW {
        let answer = service
            .try_change(node, "likeActivity", &ada, &activity, None)
            .await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], "UNAVAILABLE");
        assert_eq!(service.details(Some(&ada), &activity).await.count, 1);
        refused += 1;
    }
    // If each waited a quarter of a second, there would be two rounds of two.
    assert!(refused > 8, "only {refused} rounds in a second");
    service.redis.thaw();
    let back = Instant::now();
    eventually("Redis is back", async || {
        service.node.app.cache().ping().await.is_ok()
    })
    .await;
    assert!(back.elapsed() < SLOW * 2, "the circuit closes by itself");
}

struct Naive(redis::Client);

fn bb8_naive(url: &str) -> Naive {
    Naive(redis::Client::open(url).unwrap())
}

impl bb8::ManageConnection for Naive {
    type Connection = redis::aio::MultiplexedConnection;
    type Error = redis::RedisError;

    async fn connect(&self) -> Result<Self::Connection, Self::Error> {
        self.0.get_multiplexed_async_connection().await
    }

    async fn is_valid(&self, _: &mut Self::Connection) -> Result<(), Self::Error> {
        Ok(())
    }

    fn has_broken(&self, _: &mut Self::Connection) -> bool {
        false
    }
}

/// With the limits that a service has by default.
async fn quick() -> Service {
    let redis = crate::servers::Redis::start();
    Service::start_with(Kind::Sqlite, redis, &["--redis-timeout", "500ms"]).await
}
