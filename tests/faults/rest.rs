//! At rest: everything works again, nothing waits, and API, Redis and SQL say the same.

use std::process::Command;
use std::time::Duration;

use sqlx::PgConnection;
use tokio::time::{Instant, sleep};

use crate::api::Listed;
use crate::check::{Kind, Violation};
use crate::plan::NODES;
use crate::record::{Action, Operation, Outcome};
use crate::restore::{checkpoint, last_event, set_key};
use crate::world::{Cast, PARTITIONS, World, program};

/// So long after the last fault, everything has to work again.
const RECOVERY: Duration = Duration::from_secs(10);
/// So long after the last change, everything has to be persisted.
const DRAIN: Duration = Duration::from_secs(30);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(50);

/// Waits until both nodes are ready and take a change of the probing user.
pub async fn recovered(
    world: &World,
    cast: &Cast,
    operations: &mut Vec<Operation>,
) -> Result<Duration, Violation> {
    let begun = Instant::now();
    for node in NODES {
        loop {
            if begun.elapsed() > RECOVERY {
                let text = format!(
                    "node {} does not work {RECOVERY:?} after the last fault",
                    node + 1
                );
                return Err(Violation::new(Kind::Stuck, text));
            }
            if world.api.is_ready(node).await && probe(world, cast, node, operations).await {
                break;
            }
            sleep(LOOK).await;
        }
    }
    Ok(begun.elapsed())
}

async fn probe(world: &World, cast: &Cast, node: usize, operations: &mut Vec<Operation>) -> bool {
    let (user, action) = (cast.users.len() - 1, Action::Toggle);
    let start = world.clock.now();
    let activity = &cast.activities[0];
    let outcome = world
        .api
        .change(node, &cast.users[user], action, activity, None, true)
        .await;
    let is_done = matches!(outcome, Outcome::Done(_));
    operations.push(Operation {
        user: u16::try_from(user).unwrap(),
        activity: 0,
        node: u8::try_from(node).unwrap(),
        action,
        key: None,
        start,
        end: world.clock.now(),
        outcome,
    });
    is_done
}

/// Waits until SQL has every event and the streams are empty.
pub async fn drained(world: &World) -> Result<Duration, Violation> {
    let begun = Instant::now();
    let (mut redis, mut sql) = (world.redis().await.unwrap(), world.sql().await.unwrap());
    for partition in 0..PARTITIONS {
        let keys = ["events", "pending"].map(|name| format!("{{likes:{partition}}}:{name}"));
        loop {
            let last = last_event(&mut redis, partition).await;
            let persisted = checkpoint(&mut sql, partition).await;
            let mut waiting = redis::pipe();
            waiting.xlen(&keys[0]).hlen(&keys[1]);
            let waiting: (u64, u64) = waiting.query_async(&mut redis).await.unwrap();
            if last == persisted && waiting == (0, 0) {
                break;
            }
            if begun.elapsed() > DRAIN {
                let text = format!(
                    "partition {partition} is not persisted {DRAIN:?} after the last change: \
                     it ends at {last:?}, SQL at {persisted:?}, (events, pending) are {waiting:?}"
                );
                return Err(Violation::new(Kind::Stuck, text));
            }
            sleep(LOOK).await;
        }
    }
    Ok(begun.elapsed())
}

/// Waits until nothing waits for the worker while Redis, full, takes no changes.
pub async fn emptied(world: &World) -> Result<(), Violation> {
    let begun = Instant::now();
    let mut redis = world.redis().await.unwrap();
    let mut lengths = redis::pipe();
    for partition in 0..PARTITIONS {
        lengths.xlen(format!("{{likes:{partition}}}:events"));
    }
    while begun.elapsed() < RECOVERY {
        let waiting: Vec<u64> = lengths.query_async(&mut redis).await.unwrap();
        if waiting.iter().sum::<u64>() == 0 {
            return Ok(());
        }
        sleep(LOOK).await;
    }
    let text = "with the memory of Redis full, workers persist nothing that would free it";
    Err(Violation::new(Kind::Stuck, text))
}

/// Everybody looks at everything over both nodes. What they see becomes part of the history.
pub async fn look_around(world: &World, cast: &Cast, operations: &mut Vec<Operation>) {
    for (user, viewer) in cast.users.iter().enumerate() {
        for (activity, id) in cast.activities.iter().enumerate() {
            let node = (user + activity) % NODES.end;
            let start = world.clock.now();
            let outcome = world.api.read(node, viewer, id, false).await;
            operations.push(Operation {
                user: u16::try_from(user).unwrap(),
                activity: u16::try_from(activity).unwrap(),
                node: u8::try_from(node).unwrap(),
                action: Action::Read,
                key: None,
                start,
                end: world.clock.now(),
                outcome,
            });
        }
    }
}

/// Compares API, Redis, rows and counters of every activity, warm and cold.
pub async fn agree(world: &World, cast: &Cast) -> Vec<Violation> {
    let mut violations = Vec::new();
    let (mut redis, mut sql) = (world.redis().await.unwrap(), world.sql().await.unwrap());
    for (place, key) in cast.activity_keys.iter().enumerate() {
        let rows = rows(&mut sql, *key).await;
        let (count, changed_at) = counted(&mut sql, *key).await;
        if usize::try_from(count) != Ok(rows.len()) {
            let text = format!(
                "activity {place} counts {count} in SQL and has {} rows",
                rows.len()
            );
            violations.push(Violation::new(Kind::Torn, text));
        }
        let mut views = vec![
            ("node 1", world.api.likers(0, &cast.activities[place]).await),
            ("node 2", world.api.likers(1, &cast.activities[place]).await),
        ];
        match set(&mut redis, *key).await {
            Some((version, members)) => {
                views.push(("Redis", Some(members)));
                if version != changed_at {
                    let text = format!(
                        "activity {place} has version {version} in Redis, {changed_at} in SQL"
                    );
                    violations.push(Violation::new(Kind::Torn, text));
                }
            }
            // It has expired.
            None => views.push(("Redis", Some(rows.clone()))),
        }
        let _: u64 = redis::cmd("DEL")
            .arg(set_key(*key))
            .query_async(&mut redis)
            .await
            .unwrap();
        let cold = world.api.likers(0, &cast.activities[place]).await;
        views.push(("node 1, with a cold cache,", cold));
        for (who, likers) in views {
            if likers.as_ref() != Some(&rows) {
                let text = format!("activity {place}: {who} says {likers:?}, SQL has {rows:?}");
                violations.push(Violation::new(Kind::Torn, text));
            }
        }
    }
    violations
}

/// Likers in the order of their likes, as SQL keeps them.
async fn rows(sql: &mut PgConnection, activity: i64) -> Vec<Listed> {
    let rows = "SELECT user_id, (extract(epoch FROM liked_at) * 1000000)::bigint
        FROM activities_likes WHERE activity_id = $1 ORDER BY liked_at, user_id";
    sqlx::query_as(rows)
        .bind(activity)
        .fetch_all(sql)
        .await
        .unwrap()
}

/// The counter and the version of SQL.
async fn counted(sql: &mut PgConnection, activity: i64) -> (i64, i64) {
    let counted =
        "SELECT like_count, coalesce((extract(epoch FROM likes_changed_at) * 1000000)::bigint, 0)
        FROM activities WHERE id = $1";
    sqlx::query_as(counted)
        .bind(activity)
        .fetch_one(sql)
        .await
        .unwrap()
}

/// Version and members of a set, in order.
async fn set(
    redis: &mut redis::aio::MultiplexedConnection,
    activity: i64,
) -> Option<(i64, Vec<Listed>)> {
    let mut range = redis::cmd("ZRANGE");
    range
        .arg(set_key(activity))
        .arg(0)
        .arg(-1)
        .arg("WITHSCORES");
    let scored: Vec<(String, f64)> = range.query_async(redis).await.unwrap();
    let mut members = scored.into_iter();
    let version = -micros(members.next()?.1);
    let members = members.map(|(member, at)| (member[1..].parse().unwrap_or_default(), micros(at)));
    Some((version, members.collect()))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "whole microseconds below 2^53"
)]
fn micros(score: f64) -> i64 {
    score as i64
}

/// `likewise reconcile` finds no difference.
pub fn reconciled(world: &World) -> Result<(), Violation> {
    let mut command = Command::new(program());
    let output = command
        .arg("reconcile")
        .args(world.storage())
        .output()
        .unwrap();
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Err(Violation::new(
        Kind::Torn,
        format!("likewise reconcile finds: {text}"),
    ))
}

/// No process has panicked.
pub fn calm(world: &World) -> Vec<Violation> {
    let panicked = world.processes.iter().filter_map(|process| {
        let log = process.log();
        let line = log.lines().find(|line| line.contains("panicked at"))?;
        Some(Violation::new(
            Kind::Torn,
            format!("{}: {line}", process.name),
        ))
    });
    panicked.collect()
}
