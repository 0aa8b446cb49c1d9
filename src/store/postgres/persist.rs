//! What the worker writes.

use sqlx::{PgConnection, PgPool};

use super::WRITE;
use super::bind;
use crate::domain::{ActivityId, DeadLetter, EventId, Liker, Partition, UserId};
use crate::fault::point;
use crate::store::plan::{self, Known, Plan, Tally};
use crate::store::rows::{corrupt, event_id, expect_rows};
use crate::store::{Batch, Persisted, Result};

pub(super) async fn checkpoint(pool: &PgPool, partition: Partition) -> Result<EventId> {
    let last_id: Option<String> =
        sqlx::query_scalar("SELECT last_id FROM like_checkpoints WHERE partition = $1")
            .bind(i32::from(partition.0))
            .fetch_optional(pool)
            .await?;
    event_id(&last_id.ok_or(corrupt("like_checkpoints", "partition"))?)
}

pub(super) async fn persist(pool: &PgPool, batch: &Batch) -> Result<Persisted> {
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

/// Waits for a worker that is moving the same checkpoint, and then finds it moved.
async fn move_checkpoint(connection: &mut PgConnection, batch: &Batch) -> Result<bool> {
    let statement = "UPDATE like_checkpoints SET last_id = $3, updated_at = now()
        WHERE partition = $1 AND last_id = $2";
    let moved = sqlx::query(statement)
        .bind(i32::from(batch.partition.0))
        .bind(batch.from.to_string())
        .bind(batch.to.to_string())
        .execute(connection)
        .await?;
    Ok(moved.rows_affected() == 1)
}

/// Locks and reads what the batch speaks of: first the activities, then users, then rows, each in the
/// order of keys. Everybody who writes likes of an activity locks it first, so nobody waits in a circle
/// and the rows read here stay as they are until the commit.
async fn lock(connection: &mut PgConnection, batch: &Batch) -> Result<Known> {
    let activities: Vec<i64> = sqlx::query_scalar(
        "SELECT id FROM activities WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE",
    )
    .bind(bind::activities(&plan::activities(batch)))
    .fetch_all(&mut *connection)
    .await?;
    let users: Vec<i64> =
        sqlx::query_scalar("SELECT id FROM users WHERE id = ANY($1) ORDER BY id FOR KEY SHARE")
            .bind(bind::users(&plan::likers(batch)))
            .fetch_all(&mut *connection)
            .await?;
    let rows: Vec<(ActivityId, UserId)> = batch
        .writes
        .iter()
        .map(|write| (write.activity, write.user))
        .collect();
    let (row_activities, row_users) = bind::pairs(&rows);
    let likes: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT activity_id, user_id FROM activities_likes
        WHERE (activity_id, user_id) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))
        ORDER BY activity_id, user_id FOR UPDATE",
    )
    .bind(row_activities)
    .bind(row_users)
    .fetch_all(&mut *connection)
    .await?;
    Known::new(activities, users, likes)
}

pub(super) async fn write_likes(
    connection: &mut PgConnection,
    likes: &[(ActivityId, Liker)],
) -> Result<()> {
    if likes.is_empty() {
        return Ok(());
    }
    let (activities, users, times) = bind::likes(likes)?;
    let statement = "INSERT INTO activities_likes (activity_id, user_id, liked_at)
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[])
        ON CONFLICT (activity_id, user_id) DO UPDATE SET liked_at = excluded.liked_at";
    sqlx::query(statement)
        .bind(activities)
        .bind(users)
        .bind(times)
        .execute(connection)
        .await?;
    Ok(())
}

async fn delete_likes(
    connection: &mut PgConnection,
    unlikes: &[(ActivityId, UserId)],
) -> Result<()> {
    if unlikes.is_empty() {
        return Ok(());
    }
    let (activities, users) = bind::pairs(unlikes);
    let statement = "DELETE FROM activities_likes
        WHERE (activity_id, user_id) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))";
    let deleted = sqlx::query(statement)
        .bind(activities)
        .bind(users)
        .execute(connection)
        .await?;
    expect_rows(deleted.rows_affected(), unlikes, "activities_likes")
}

pub(super) async fn write_tallies(connection: &mut PgConnection, tallies: &[Tally]) -> Result<()> {
    if tallies.is_empty() {
        return Ok(());
    }
    let (activities, gains, times) = bind::tallies(tallies)?;
    let statement = "UPDATE activities a
        SET like_count = a.like_count + t.gained,
            likes_changed_at = greatest(a.likes_changed_at, t.changed_at)
        FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[]) AS t (id, gained, changed_at)
        WHERE a.id = t.id";
    let updated = sqlx::query(statement)
        .bind(activities)
        .bind(gains)
        .bind(times)
        .execute(connection)
        .await?;
    expect_rows(updated.rows_affected(), tallies, "activities")
}

async fn write_letters(
    connection: &mut PgConnection,
    partition: Partition,
    letters: &[DeadLetter],
) -> Result<()> {
    if letters.is_empty() {
        return Ok(());
    }
    let (ids, reasons, payloads) = bind::letters(letters);
    let statement = "INSERT INTO like_dead_letters (partition, event_id, reason, payload)
        SELECT $1, t.* FROM unnest($2::text[], $3::text[], $4::text[]) AS t
        ON CONFLICT (partition, event_id) DO NOTHING";
    sqlx::query(statement)
        .bind(i32::from(partition.0))
        .bind(ids)
        .bind(reasons)
        .bind(payloads)
        .execute(connection)
        .await?;
    Ok(())
}
