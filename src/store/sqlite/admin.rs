//! The schema, and what operators look at.

use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{SqliteConnection, SqlitePool};

use super::{MIGRATIONS, WRITE, bind};
use crate::domain::{ActivityId, EventId, Partition, Partitions};
use crate::store::bounds::saturated;
use crate::store::rows::{CountsRow, all};
use crate::store::{Counts, Error, Result, schema};

/// On a connection of its own, the only one that may make the file.
pub(super) async fn migrate(creating: &SqliteConnectOptions) -> Result<()> {
    let pool = SqlitePoolOptions::new().max_connections(1);
    let pool = pool.connect_with(creating.clone()).await?;
    let migrated = MIGRATIONS.run(&pool).await;
    pool.close().await;
    migrated?;
    Ok(())
}

pub(super) async fn verify(pool: &SqlitePool, file: &Path) -> Result<()> {
    if !file.exists() {
        return Err(Error::Unmigrated("there is no file".to_owned()));
    }
    let migrated: bool = sqlx::query_scalar(
        "SELECT EXISTS (SELECT * FROM sqlite_schema WHERE name = '_sqlx_migrations')",
    )
    .fetch_one(pool)
    .await?;
    if !migrated {
        return schema::compare(&[], &MIGRATIONS);
    }
    let applied = sqlx::query_as("SELECT version, checksum, success FROM _sqlx_migrations")
        .fetch_all(pool)
        .await?;
    schema::compare(&applied, &MIGRATIONS)
}

pub(super) async fn ensure_checkpoints(pool: &SqlitePool, partitions: Partitions) -> Result<()> {
    let mut tx = pool.begin_with(WRITE).await?;
    let mut stored = count_checkpoints(&mut tx).await?;
    if stored == 0 {
        make_checkpoints(&mut tx, partitions).await?;
        stored = count_checkpoints(&mut tx).await?;
    }
    tx.commit().await?;
    schema::expect_partitions(stored, partitions)
}

async fn count_checkpoints(connection: &mut SqliteConnection) -> Result<i64> {
    let count = sqlx::query_scalar("SELECT count(*) FROM like_checkpoints")
        .fetch_one(connection)
        .await?;
    Ok(count)
}

async fn make_checkpoints(connection: &mut SqliteConnection, partitions: Partitions) -> Result<()> {
    let statement = "INSERT INTO like_checkpoints (partition, last_id)
        SELECT value, ?2 FROM json_each(?1)
        WHERE NOT EXISTS (SELECT * FROM like_checkpoints)";
    let all: Vec<Partition> = partitions.all().collect();
    sqlx::query(statement)
        .bind(bind::partitions(&all))
        .bind(EventId::START.to_string())
        .execute(connection)
        .await?;
    Ok(())
}

pub(super) async fn ping(pool: &SqlitePool) -> Result<()> {
    sqlx::query("SELECT 1").execute(pool).await?;
    Ok(())
}

pub(super) async fn counts(
    pool: &SqlitePool,
    after: Option<ActivityId>,
    limit: usize,
) -> Result<Vec<Counts>> {
    let statement = "SELECT a.id, a.like_count AS counted,
            (SELECT count(*) FROM activities_likes l WHERE l.activity_id = a.id) AS found
        FROM activities a WHERE a.id > ?1 ORDER BY a.id LIMIT ?2";
    let rows: Vec<CountsRow> = sqlx::query_as(statement)
        .bind(after.map_or(0, ActivityId::get))
        .bind(saturated(limit))
        .fetch_all(pool)
        .await?;
    all(rows)
}

pub(super) async fn recount(pool: &SqlitePool, activity: ActivityId) -> Result<Option<(i64, i64)>> {
    let mut tx = pool.begin_with(WRITE).await?;
    let before: Option<i64> = sqlx::query_scalar("SELECT like_count FROM activities WHERE id = ?1")
        .bind(activity.get())
        .fetch_optional(&mut *tx)
        .await?;
    let Some(before) = before else {
        return Ok(None);
    };
    let statement = "UPDATE activities
        SET like_count = (SELECT count(*) FROM activities_likes WHERE activity_id = ?1)
        WHERE id = ?1 RETURNING like_count";
    let after: i64 = sqlx::query_scalar(statement)
        .bind(activity.get())
        .fetch_one(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(Some((before, after)))
}

pub(super) async fn dead_letters(pool: &SqlitePool) -> Result<Vec<(String, i64)>> {
    let statement =
        "SELECT reason, count(*) FROM like_dead_letters GROUP BY reason ORDER BY reason";
    Ok(sqlx::query_as(statement).fetch_all(pool).await?)
}
