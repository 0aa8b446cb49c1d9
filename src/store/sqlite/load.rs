//! Demo and benchmark data in bulk.

use sqlx::SqlitePool;

use super::WRITE;
use super::bind;
use super::persist::{write_likes, write_tallies};
use crate::domain::{ActivityId, Identity, Liker, NewActivity, UserId};
use crate::store::answers::ids_by_subject;
use crate::store::rows::activity_id;
use crate::store::{Result, plan};

/// Subjects that exist already keep their keys, so that loading twice does no harm.
pub(super) async fn load_users(pool: &SqlitePool, users: &[Identity]) -> Result<Vec<UserId>> {
    let statement = "INSERT INTO users (subject, name, avatar_url)
        SELECT value ->> 0, coalesce(value ->> 1, value ->> 0), value ->> 2
        FROM json_each(?1) WHERE true
        ON CONFLICT (subject) DO UPDATE
        SET name = excluded.name, avatar_url = excluded.avatar_url
        RETURNING subject, id";
    let rows = sqlx::query_as(statement)
        .bind(bind::identities(users))
        .fetch_all(pool)
        .await?;
    ids_by_subject(rows, users)
}

/// Keys rise with the order of insertion.
pub(super) async fn load_activities(
    pool: &SqlitePool,
    activities: &[NewActivity],
) -> Result<Vec<ActivityId>> {
    let statement = "INSERT INTO activities (title, body, author_id, created_at)
        SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3
        FROM json_each(?1) ORDER BY key RETURNING id";
    let mut keys: Vec<i64> = sqlx::query_scalar(statement)
        .bind(bind::new_activities(activities)?)
        .fetch_all(pool)
        .await?;
    keys.sort_unstable();
    keys.into_iter().map(activity_id).collect()
}

pub(super) async fn load_likes(pool: &SqlitePool, likes: &[(ActivityId, Liker)]) -> Result<()> {
    let mut tx = pool.begin_with(WRITE).await?;
    write_tallies(&mut tx, &plan::tallies(likes)).await?;
    write_likes(&mut tx, likes).await?;
    tx.commit().await?;
    Ok(())
}
