//! Redis comes back with less than it had acknowledged: what is true from then on, and when all agree on it.
//!
//! SQL's rows and the events that came back decide it (the service's one invariant), and both are looked
//! at while no process can reach Redis. So the checks need no allowance beyond what was really lost:
//! from here on, each like is what was found, and that has to be a state it had since the copy.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use likewise::domain::{ActivityId, EventId, Partition};
use redis::aio::MultiplexedConnection;
use redis::streams::StreamRangeReply;
use sqlx::Connection;
use tokio::time::{Instant, sleep};

use crate::proxy::Mode;
use crate::record::{Micros, Pair, Restore};
use crate::world::{Cast, PARTITIONS, World, partitions};

/// A worker that has read events needs no longer to begin to persist them.
const LAST_WRITES: Duration = Duration::from_millis(500);
/// How long to wait for transactions under way.
const LONGEST_WRITE: Duration = Duration::from_secs(2);
/// How long the service may take to notice that Redis is older, and to heal it.
pub const LONGEST_DOUBT: Duration = Duration::from_secs(30);

/// How far each partition was persisted when Redis came back.
pub type Checkpoints = HashMap<u16, EventId>;

/// Cuts Redis off, does something to it, and opens the wires again when it is known what came back.
pub async fn cut_off(
    world: &World,
    cast: &Cast,
    copied: Micros,
    work: impl AsyncFnOnce(),
) -> (Restore, Checkpoints) {
    let down = world.clock.now();
    for wires in &world.wires {
        wires[crate::plan::REDIS].set(Mode::Cut);
    }
    work().await;
    let (truth, checkpoints, sets) = look(world, cast).await;
    let up = world.clock.now();
    for wires in &world.wires {
        wires[crate::plan::REDIS].mend();
    }
    let restore = Restore {
        copied: copied.min(down),
        down,
        up,
        healed: Micros::MAX,
        truth,
        sets,
        loose: false,
    };
    (restore, checkpoints)
}

async fn look(
    world: &World,
    cast: &Cast,
) -> (HashSet<Pair>, Checkpoints, HashMap<u16, HashSet<u16>>) {
    let mut sql = world.sql().await.unwrap();
    sleep(LAST_WRITES).await;
    let begun = Instant::now();
    let writing = "SELECT count(*) FROM pg_stat_activity WHERE backend_xid IS NOT NULL";
    while begun.elapsed() < LONGEST_WRITE {
        let writing: i64 = sqlx::query_scalar(writing)
            .fetch_one(&mut sql)
            .await
            .unwrap();
        if writing == 0 {
            break;
        }
        sleep(Duration::from_millis(20)).await;
    }
    let as_of_now = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    let mut tx = sql.begin_with(as_of_now).await.unwrap();
    let rows: Vec<(i64, i64)> = sqlx::query_as("SELECT user_id, activity_id FROM activities_likes")
        .fetch_all(&mut *tx)
        .await
        .unwrap();
    let checkpoints: Vec<(i32, String)> =
        sqlx::query_as("SELECT partition, last_id FROM like_checkpoints")
            .fetch_all(&mut *tx)
            .await
            .unwrap();
    tx.commit().await.unwrap();
    let checkpoints: Checkpoints = checkpoints
        .into_iter()
        .map(|(partition, id)| (u16::try_from(partition).unwrap(), id.parse().unwrap()))
        .collect();
    let mut truth: HashSet<Pair> = rows
        .into_iter()
        .filter_map(|(user, activity)| Some((cast.user(user)?, cast.activity(activity)?)))
        .collect();
    let mut redis = world.redis().await.unwrap();
    for (partition, checkpoint) in &checkpoints {
        replay(&mut redis, cast, *partition, *checkpoint, &mut truth).await;
    }
    let mut sets = HashMap::new();
    for (place, key) in cast.activity_keys.iter().enumerate() {
        if let Some(set) = set(&mut redis, cast, *key).await {
            sets.insert(u16::try_from(place).unwrap(), set);
        }
    }
    (truth, checkpoints, sets)
}

/// Lays the events after the checkpoint over the rows.
async fn replay(
    redis: &mut MultiplexedConnection,
    cast: &Cast,
    partition: u16,
    checkpoint: EventId,
    truth: &mut HashSet<Pair>,
) {
    let events: StreamRangeReply = redis::cmd("XRANGE")
        .arg(format!("{{likes:{partition}}}:events"))
        .arg(checkpoint.next().to_string())
        .arg("+")
        .query_async(redis)
        .await
        .unwrap();
    for event in events.ids {
        let field = |name: &str| event.get::<i64>(name).unwrap();
        let (user, activity) = (cast.user(field("user")), cast.activity(field("activity")));
        let Some(pair) = user.zip(activity) else {
            continue;
        };
        if field("liked") == 1 {
            truth.insert(pair);
        } else {
            truth.remove(&pair);
        }
    }
}

/// The users in a set; None if it is missing or has no sentinel, and so will not be trusted.
async fn set(
    redis: &mut MultiplexedConnection,
    cast: &Cast,
    activity: i64,
) -> Option<HashSet<u16>> {
    let members: Vec<String> = redis::cmd("ZRANGE")
        .arg(set_key(activity))
        .arg(0)
        .arg(-1)
        .query_async(redis)
        .await
        .unwrap();
    let sentinel = members.first()? == "-";
    let users = members[1..]
        .iter()
        .filter_map(|member| cast.user(member[1..].parse().ok()?));
    sentinel.then(|| users.collect())
}

/// The key of the set of an activity.
pub fn set_key(activity: i64) -> String {
    let partition = partitions().of(ActivityId::new(activity).unwrap());
    format!("{{likes:{partition}}}:set:{activity}")
}

/// Returns when no partition is in doubt any more: what Redis ended with, at or after the checkpoint of
/// then, is persisted, and a worker drops what it doubts before it persists anything. None if that takes too long.
pub async fn healed(world: &World, checkpoints: &Checkpoints) -> Option<Micros> {
    let begun = Instant::now();
    let mut doubted: Vec<u16> = (0..PARTITIONS).collect();
    while begun.elapsed() < LONGEST_DOUBT {
        sleep(Duration::from_millis(50)).await;
        if let (Ok(mut redis), Ok(mut sql)) = (world.redis().await, world.sql().await) {
            let mut still = Vec::new();
            for partition in doubted {
                let last = last_event(&mut redis, partition).await;
                let reached = last.filter(|last| *last >= checkpoints[&partition]);
                let persisted = checkpoint(&mut sql, partition).await;
                if reached.is_none() || persisted < reached {
                    still.push(partition);
                }
            }
            doubted = still;
            if doubted.is_empty() {
                return Some(world.clock.now());
            }
        }
    }
    None
}

/// The end of a partition's stream; None if Redis does not tell.
pub async fn last_event(redis: &mut MultiplexedConnection, partition: u16) -> Option<EventId> {
    let mut info = redis::cmd("XINFO");
    info.arg("STREAM")
        .arg(format!("{{likes:{partition}}}:events"));
    let info: redis::RedisResult<redis::streams::StreamInfoStreamReply> =
        info.query_async(redis).await;
    match info {
        Ok(info) => info.last_generated_id.parse().ok(),
        Err(error) if error.code() == Some("ERR") => Some(EventId::START),
        Err(_) => None,
    }
}

/// How far a partition is persisted; None if SQL does not tell.
pub async fn checkpoint(sql: &mut sqlx::PgConnection, partition: u16) -> Option<EventId> {
    let statement = "SELECT last_id FROM like_checkpoints WHERE partition = $1";
    let id: String = sqlx::query_scalar(statement)
        .bind(i32::from(Partition(partition).0))
        .fetch_one(sql)
        .await
        .ok()?;
    id.parse().ok()
}
