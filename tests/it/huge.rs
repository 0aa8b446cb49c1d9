//! One activity that very many like, and one that very many turn to at once. `make huge` prints figures
//! for a million likers; with all tests a small size runs, and only what holds on any machine is asserted.

mod pings;

use std::time::{Duration, Instant};

use futures::StreamExt;
use likewise::domain::{Liker, Timestamp};
use serde_json::json;

use crate::servers::Redis;
use crate::service::{Details, Service, eventually, key_of, user};
use crate::store::{Kind, identity};
use pings::Pings;

/// Rows written in one go.
const LOADED_AT_ONCE: usize = 50_000;
/// Requests under way at once.
const AT_ONCE: usize = 200;
/// As many as a node works on.
const READERS_AT_ONCE: usize = 1000;

/// Whole, for a million likers; else a hundredth of it.
fn size(whole: usize) -> usize {
    let is_whole = std::env::var_os("LIKEWISE_HUGE").is_some();
    if is_whole { whole } else { whole / 100 }
}

async fn start() -> Service {
    let redis = Redis::start_with(&[
        "--appendonly",
        "yes",
        "--slowlog-log-slower-than",
        "1000",
        "--slowlog-max-len",
        "100000",
    ]);
    let service = Service::start_with(Kind::Postgres, redis, &["--redis-timeout", "500ms"]).await;
    service.node.work();
    service
}

/// Prints how long something took, what PING took meanwhile, and the slowest commands.
async fn report(service: &Service, what: &str, begun: Instant, pings: Pings) {
    let took = begun.elapsed();
    let slow: Vec<(i64, i64, i64, Vec<String>, String, String)> =
        service.redis(&["SLOWLOG", "GET", "-1"]).await;
    let slowest = slow.iter().max_by_key(|entry| entry.2);
    let slowest = slowest.map_or_else(
        || "none over 1 ms".to_owned(),
        |entry| format!("{:.1} ms {}", ms(entry.2), entry.3[0]),
    );
    println!(
        "{what:<44} {took:>9.2?}  {}  slowest command {slowest}",
        pings.end().await
    );
    let _: String = service.redis(&["SLOWLOG", "RESET"]).await;
}

#[expect(clippy::cast_precision_loss, reason = "for the eye")]
fn ms(micros: i64) -> f64 {
    micros as f64 / 1000.0
}

async fn transactions(service: &Service) -> i64 {
    let statement = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()";
    tokio::time::sleep(Duration::from_secs(1)).await;
    service.world.number(statement).await
}

#[tokio::test]
async fn an_activity_that_very_many_like_holds_nobody_up() {
    let service = start().await;
    let activity = service.activity().await;
    let crowd = size(1_000_000);
    let store = service.node.app.store();
    for part in 0..crowd.div_ceil(LOADED_AT_ONCE) {
        let numbers = part * LOADED_AT_ONCE..crowd.min((part + 1) * LOADED_AT_ONCE);
        let identities: Vec<_> = numbers
            .map(|number| identity(&format!("liker {number}")))
            .collect();
        let users = store.load_users(&identities).await.unwrap();
        let like = |(place, &user): (usize, &_)| {
            let at = i64::try_from(part * LOADED_AT_ONCE + place).unwrap();
            let at = Timestamp(1_700_000_000_000_000 + at);
            (key_of(&activity), Liker { at, user })
        };
        let likes: Vec<_> = users.iter().enumerate().map(like).collect();
        store.load_likes(&likes).await.unwrap();
    }
    println!("{crowd} likers of one activity");
    let url = service.redis.url();

    let (begun, pings) = (Instant::now(), Pings::start(&url));
    tokio::time::sleep(Duration::from_secs(1)).await;
    report(&service, "nothing, for comparison", begun, pings).await;

    let (begun, pings) = (Instant::now(), Pings::start(&url));
    let details = service.details(None, &activity).await;
    assert_eq!(details.count, i64::try_from(crowd).unwrap());
    report(&service, "first read, cold, from SQL", begun, pings).await;

    let (begun, pings) = (Instant::now(), Pings::start(&url));
    // A change waits for the rebuild as long as a change may; then the client repeats it.
    eventually("it is liked", async || {
        let node = &service.node;
        let answer = service
            .try_change(node, "likeActivity", &user("Ada"), &activity, Some("tap"))
            .await;
        answer["data"]["likeActivity"]["liked"] == true
    })
    .await;
    report(
        &service,
        "first change, cold: rebuild and change",
        begun,
        pings,
    )
    .await;

    let (begun, pings) = (Instant::now(), Pings::start(&url));
    service.toggle(&user("Bob"), &activity).await;
    report(&service, "next change", begun, pings).await;

    eventually("it is persisted", async || {
        let pending: i64 = service
            .redis(&["HLEN", &service.redis_key("pending", &activity)])
            .await;
        pending == 0
    })
    .await;
    let set = service.redis_key("set", &activity);
    for freeing in ["no", "yes"] {
        let lazily = ["CONFIG", "SET", "lazyfree-lazy-expire", freeing];
        let _: String = service.redis(&lazily).await;
        let (begun, pings) = (Instant::now(), Pings::start(&url));
        let _: i64 = service.redis(&["PEXPIRE", &set, "1"]).await;
        eventually("it has expired", async || {
            service.redis::<i64>(&["EXISTS", &set]).await == 0
        })
        .await;
        // Redis frees it within the tenth of a second in which it looks for what has expired.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let what = format!("expiry, lazyfree-lazy-expire {freeing}");
        report(&service, &what, begun, pings).await;

        let (begun, pings) = (Instant::now(), Pings::start(&url));
        service.details(None, &activity).await;
        eventually("it is rebuilt", async || {
            service.redis::<i64>(&["EXISTS", &set]).await == 1
        })
        .await;
        report(&service, "rebuild after a read", begun, pings).await;
    }
    let (begun, pings) = (Instant::now(), Pings::start(&url));
    let query =
        "mutation($id: ID!) { deleteActivity(input: { activityId: $id }) { deletedActivityId } }";
    let body = json!({ "query": query, "variables": { "id": activity } });
    service
        .send(&service.node, Some(&user("author")), body)
        .await;
    eventually("it is deleted", async || {
        service.redis::<i64>(&["EXISTS", &set]).await == 0
    })
    .await;
    report(&service, "deletion", begun, pings).await;
}

#[tokio::test]
async fn an_activity_that_very_many_turn_to_at_once_holds_nobody_up() {
    let service = start().await;
    let activity = service.activity().await;
    let url = service.redis.url();
    let crowd = size(5_000);
    let users: Vec<_> = (0..crowd)
        .map(|number| user(&format!("user {number}")))
        .collect();

    let (begun, pings) = (Instant::now(), Pings::start(&url));
    let likes = futures::stream::iter(&users).map(|user| service.like(user, &activity));
    let liked: Vec<_> = likes.buffer_unordered(AT_ONCE).collect().await;
    assert!(liked.iter().all(|liked| liked["changed"] == true));
    report(&service, &format!("{crowd} users like it"), begun, pings).await;
    eventually("it is persisted", async || {
        let pending: i64 = service
            .redis(&["HLEN", &service.redis_key("pending", &activity)])
            .await;
        pending == 0
    })
    .await;

    let _: String = service.redis(&["CONFIG", "RESETSTAT"]).await;
    let readers: Vec<_> = users.iter().cycle().take(size(10_000)).collect();
    for (what, set) in [
        ("warm", None),
        ("cold", Some(service.redis_key("set", &activity))),
    ] {
        let before = transactions(&service).await;
        if let Some(set) = &set {
            let _: i64 = service.redis(&["DEL", set]).await;
        }
        let (begun, pings) = (Instant::now(), Pings::start(&url));
        let reads = readers
            .iter()
            .map(|reader| service.details(Some(reader), &activity));
        let reads = futures::stream::iter(reads).buffer_unordered(READERS_AT_ONCE);
        let read: Vec<_> = reads.collect().await;
        let all =
            |details: &Details| details.liked && details.count == i64::try_from(crowd).unwrap();
        assert!(read.iter().all(all));
        report(
            &service,
            &format!("{} readers, {what}", readers.len()),
            begun,
            pings,
        )
        .await;
        let transactions = transactions(&service).await - before;
        println!("    in {transactions} transactions of SQL");
    }
    let stats: String = service.redis(&["INFO", "commandstats"]).await;
    let rebuilt = stats
        .lines()
        .find(|line| line.starts_with("cmdstat_rename:"));
    let rebuilt = rebuilt.unwrap_or_default();
    assert!(
        rebuilt.starts_with("cmdstat_rename:calls=1,"),
        "more than one rebuild: {rebuilt:?}"
    );
}
