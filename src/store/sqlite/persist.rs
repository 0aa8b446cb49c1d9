//! What the worker writes.

use sqlx::{SqliteConnection, SqlitePool};

use super::WRITE;
use super::bind;
use crate::domain::{ActivityId, DeadLetter, EventId, Liker, Partition, UserId};
use crate::fault::point;
use crate::store::plan::{self, Known, Plan, Tally};
use crate::store::rows::{corrupt, event_id, expect_rows};
use crate::store::{Batch, Persisted, Result};

pub(super) async fn checkpoint(pool: &SqlitePool, partition: Partition) -> Result<EventId> {
    let last_id: Option<String> =
        sqlx::query_scalar("SELECT last_id FROM like_checkpoints WHERE partition = ?1")
            .bind(i32::from(partition.0))
            .fetch_optional(pool)
            .await?;
    event_id(&last_id.ok_or(corrupt("like_checkpoints", "partition"))?)
}

pub(super) async fn persist(pool: &SqlitePool, batch: &Batch) -> Result<Persisted> {
    let mut tx = pool.begin_with(WRITE).await?;
    point("persist.begun");
    if !move_checkpoint(&mut tx, batch).await? {
        tx.rollback().await?;
        return Ok(Persisted::Fenced);
    }
    point("persist.moved");
    let plan = Plan::of(batch, &lock(&mut tx, batch).await?);
    write_likes(&mut tx, &plan.likes).await?;
    delete_likes(&mut tx, &plan.unlikes).await?;
    write_tallies(&mut tx, &plan.tallies).await?;
    write_letters(&mut tx, batch.partition, &plan.set_aside).await?;
    point("persist.written");
    tx.commit().await?;
    Ok(Persisted::Committed {
        set_aside: plan.set_aside,
        gone: plan.gone,
        refused: plan.refused,
    })
}

/// A worker that was faster has moved it.
async fn move_checkpoint(connection: &mut SqliteConnection, batch: &Batch) -> Result<bool> {
    let statement = "UPDATE like_checkpoints SET last_id = ?3, updated_at = CAST(unixepoch('subsec') * 1000000 AS INTEGER)
        WHERE partition = ?1 AND last_id = ?2";
    let moved = sqlx::query(statement)
        .bind(i32::from(batch.partition.0))
        .bind(batch.from.to_string())
        .bind(batch.to.to_string())
        .execute(connection)
        .await?;
    Ok(moved.rows_affected() == 1)
}

/// Reads what the batch speaks of. The transaction has the one write lock, so it stays as it is until the
/// commit.
async fn lock(connection: &mut SqliteConnection, batch: &Batch) -> Result<Known> {
    let activities: Vec<i64> = sqlx::query_scalar(
        "SELECT id FROM activities WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY id",
    )
    .bind(bind::activities(&plan::activities(batch)))
    .fetch_all(&mut *connection)
    .await?;
    let users: Vec<i64> = sqlx::query_scalar(
        "SELECT id FROM users WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY id",
    )
    .bind(bind::users(&plan::likers(batch)))
    .fetch_all(&mut *connection)
    .await?;
    let rows: Vec<(ActivityId, UserId)> = batch
        .writes
        .iter()
        .map(|write| (write.activity, write.user))
        .collect();
    let likes: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT activity_id, user_id FROM activities_likes
        WHERE (activity_id, user_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?1))
        ORDER BY activity_id, user_id",
    )
    .bind(bind::pairs(&rows))
    .fetch_all(&mut *connection)
    .await?;
    Known::new(activities, users, likes)
}

pub(super) async fn write_likes(
    connection: &mut SqliteConnection,
    likes: &[(ActivityId, Liker)],
) -> Result<()> {
    if likes.is_empty() {
        return Ok(());
    }
    let statement = "INSERT INTO activities_likes (activity_id, user_id, liked_at)
        SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?1) WHERE true
        ON CONFLICT (activity_id, user_id) DO UPDATE SET liked_at = excluded.liked_at";
    sqlx::query(statement)
        .bind(bind::likes(likes)?)
        .execute(connection)
        .await?;
    Ok(())
}

async fn delete_likes(
    connection: &mut SqliteConnection,
    unlikes: &[(ActivityId, UserId)],
) -> Result<()> {
    if unlikes.is_empty() {
        return Ok(());
    }
    let statement = "DELETE FROM activities_likes
        WHERE (activity_id, user_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?1))";
    let deleted = sqlx::query(statement)
        .bind(bind::pairs(unlikes))
        .execute(connection)
        .await?;
    expect_rows(deleted.rows_affected(), unlikes, "activities_likes")
}

pub(super) async fn write_tallies(
    connection: &mut SqliteConnection,
    tallies: &[Tally],
) -> Result<()> {
    if tallies.is_empty() {
        return Ok(());
    }
    let statement = "UPDATE activities AS a
        SET like_count = a.like_count + t.gained,
            likes_changed_at = max(
                coalesce(a.likes_changed_at, t.changed_at),
                coalesce(t.changed_at, a.likes_changed_at)
            )
        FROM (
            SELECT value ->> 0 AS id, value ->> 1 AS gained, value ->> 2 AS changed_at
            FROM json_each(?1)
        ) AS t
        WHERE a.id = t.id";
    let updated = sqlx::query(statement)
        .bind(bind::tallies(tallies)?)
        .execute(connection)
        .await?;
    expect_rows(updated.rows_affected(), tallies, "activities")
}

async fn write_letters(
    connection: &mut SqliteConnection,
    partition: Partition,
    letters: &[DeadLetter],
) -> Result<()> {
    if letters.is_empty() {
        return Ok(());
    }
    let statement = "INSERT INTO like_dead_letters (partition, event_id, reason, payload)
        SELECT ?1, value ->> 0, value ->> 1, value ->> 2 FROM json_each(?2) WHERE true
        ON CONFLICT (partition, event_id) DO NOTHING";
    sqlx::query(statement)
        .bind(i32::from(partition.0))
        .bind(bind::letters(letters))
        .execute(connection)
        .await?;
    Ok(())
}
