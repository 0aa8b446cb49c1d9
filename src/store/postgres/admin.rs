//! The schema, and what operators look at.

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgConnection, PgPool};

use super::{MIGRATIONS, WRITE, bind};
use crate::domain::{ActivityId, EventId, Partition, Partitions};
use crate::store::bounds::saturated;
use crate::store::rows::{CountsRow, all};
use crate::store::{Counts, Result, schema};

/// On a connection of its own: an index over many rows takes longer than a statement usually may.
pub(super) async fn migrate(unlimited: &PgConnectOptions) -> Result<()> {
    let pool = PgPoolOptions::new().max_connections(1);
    let pool = pool.connect_with(unlimited.clone()).await?;
    let migrated = MIGRATIONS.run(&pool).await;
    pool.close().await;
    migrated?;
    Ok(())
}

pub(super) async fn verify(pool: &PgPool) -> Result<()> {
    let migrated: bool = sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL")
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

pub(super) async fn ensure_checkpoints(pool: &PgPool, partitions: Partitions) -> Result<()> {
    let mut tx = pool.begin_with(WRITE).await?;
    let mut stored = count_checkpoints(&mut tx).await?;
    if stored == 0 {
        // Two services that set up one database with different numbers must not both succeed.
        sqlx::query("LOCK TABLE like_checkpoints IN SHARE ROW EXCLUSIVE MODE")
            .execute(&mut *tx)
            .await?;
        make_checkpoints(&mut tx, partitions).await?;
        stored = count_checkpoints(&mut tx).await?;
    }
    tx.commit().await?;
    schema::expect_partitions(stored, partitions)
}

async fn count_checkpoints(connection: &mut PgConnection) -> Result<i64> {
    let count = sqlx::query_scalar("SELECT count(*) FROM like_checkpoints")
        .fetch_one(connection)
        .await?;
    Ok(count)
}

async fn make_checkpoints(connection: &mut PgConnection, partitions: Partitions) -> Result<()> {
    let statement = "INSERT INTO like_checkpoints (partition, last_id)
        SELECT partition, $2 FROM unnest($1::integer[]) AS t (partition)
        WHERE NOT EXISTS (SELECT * FROM like_checkpoints)";
    let all: Vec<Partition> = partitions.all().collect();
    sqlx::query(statement)
        .bind(bind::partitions(&all))
        .bind(EventId::START.to_string())
        .execute(connection)
        .await?;
    Ok(())
}

pub(super) async fn ping(pool: &PgPool) -> Result<()> {
    sqlx::query("SELECT 1").execute(pool).await?;
    Ok(())
}

pub(super) async fn counts(
    pool: &PgPool,
    after: Option<ActivityId>,
    limit: usize,
) -> Result<Vec<Counts>> {
    let statement = "SELECT a.id, a.like_count AS counted,
            (SELECT count(*) FROM activities_likes l WHERE l.activity_id = a.id) AS found
        FROM activities a WHERE a.id > $1 ORDER BY a.id LIMIT $2";
    let rows: Vec<CountsRow> = sqlx::query_as(statement)
        .bind(after.map_or(0, ActivityId::get))
        .bind(saturated(limit))
        .fetch_all(pool)
        .await?;
    all(rows)
}

pub(super) async fn recount(pool: &PgPool, activity: ActivityId) -> Result<Option<(i64, i64)>> {
    let mut tx = pool.begin_with(WRITE).await?;
    let before: Option<i64> =
        sqlx::query_scalar("SELECT like_count FROM activities WHERE id = $1 FOR NO KEY UPDATE")
            .bind(activity.get())
            .fetch_optional(&mut *tx)
            .await?;
    let Some(before) = before else {
        return Ok(None);
    };
    let statement = "UPDATE activities
        SET like_count = (SELECT count(*) FROM activities_likes WHERE activity_id = $1)
        WHERE id = $1 RETURNING like_count";
    let after: i64 = sqlx::query_scalar(statement)
        .bind(activity.get())
        .fetch_one(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(Some((before, after)))
}

pub(super) async fn dead_letters(pool: &PgPool) -> Result<Vec<(String, i64)>> {
    let statement =
        "SELECT reason, count(*) FROM like_dead_letters GROUP BY reason ORDER BY reason";
    Ok(sqlx::query_as(statement).fetch_all(pool).await?)
}
