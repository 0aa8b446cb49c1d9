//! Faults inside a Redis that runs: sets, scripts and memory.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::check::Violation;
use crate::plan::Fault;
use crate::rest;
use crate::restore::set_key;
use crate::world::{Cast, World};

/// What somebody with redis-cli could do, again and again.
pub async fn by_hand(
    world: &World,
    cast: &Cast,
    fault: Fault,
    lasts: Duration,
) -> redis::RedisResult<()> {
    let mut redis = world.redis().await?;
    let begun = Instant::now();
    while begun.elapsed() < lasts {
        if fault == Fault::FlushScripts {
            let mut flush = redis::cmd("SCRIPT");
            flush.arg("FLUSH").exec_async(&mut redis).await?;
        } else {
            for activity in &cast.activity_keys {
                let set = set_key(*activity);
                let command = match fault {
                    Fault::DeleteSets => redis::Cmd::del(&set),
                    _ => redis::Cmd::pexpire(&set, rand::random_range(1..100)),
                };
                if rand::random() {
                    command.exec_async(&mut redis).await?;
                }
            }
        }
        sleep(Duration::from_millis(rand::random_range(20..200))).await;
    }
    Ok(())
}

/// Lowers the limit of memory for a while. How many keys were evicted, and what is wrong.
pub async fn limit_memory(
    world: &World,
    fault: Fault,
    lasts: Duration,
) -> redis::RedisResult<(u64, Option<Violation>)> {
    let mut redis = world.redis().await?;
    let before: redis::InfoDict = redis::cmd("INFO").query_async(&mut redis).await?;
    let used: u64 = before.get("used_memory").unwrap_or_default();
    let (policy, limit) = match fault {
        Fault::FillMemory => ("noeviction", used / 2),
        // What was there at the start cannot go, so this is a good part of the rest.
        _ => ("volatile-ttl", used - used / 20),
    };
    for (name, value) in [
        ("maxmemory-policy", policy.to_owned()),
        // Redis looks at so many keys at random and evicts the best: with as many, sets are among them.
        ("maxmemory-samples", "64".to_owned()),
        ("maxmemory", limit.to_string()),
    ] {
        let mut set = redis::cmd("CONFIG");
        set.arg("SET")
            .arg(name)
            .arg(value)
            .exec_async(&mut redis)
            .await?;
    }
    sleep(lasts).await;
    let mut violation = None;
    if fault == Fault::FillMemory {
        violation = rest::emptied(world).await.err();
    }
    for (name, value) in [("maxmemory", "0"), ("maxmemory-policy", "noeviction")] {
        let mut set = redis::cmd("CONFIG");
        set.arg("SET")
            .arg(name)
            .arg(value)
            .exec_async(&mut redis)
            .await?;
    }
    let after: redis::InfoDict = redis::cmd("INFO").query_async(&mut redis).await?;
    let evicted = |info: &redis::InfoDict| info.get::<u64>("evicted_keys").unwrap_or_default();
    Ok((evicted(&after) - evicted(&before), violation))
}
