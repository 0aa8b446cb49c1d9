//! Demo and benchmark data in bulk.

use sqlx::PgPool;

use super::WRITE;
use super::bind;
use super::persist::{write_likes, write_tallies};
use crate::domain::{ActivityId, Identity, Liker, NewActivity, UserId};
use crate::store::answers::ids_by_subject;
use crate::store::rows::activity_id;
use crate::store::{Result, plan};

/// Subjects that exist already keep their keys, so that loading twice does no harm.
pub(super) async fn load_users(pool: &PgPool, users: &[Identity]) -> Result<Vec<UserId>> {
    let (subjects, names, pictures) = bind::identities(users);
    let statement = "INSERT INTO users (subject, name, avatar_url)
        SELECT subject, coalesce(name, subject), picture
        FROM unnest($1::text[], $2::text[], $3::text[]) AS t (subject, name, picture)
        ON CONFLICT (subject) DO UPDATE
        SET name = excluded.name, avatar_url = excluded.avatar_url
        RETURNING subject, id";
    let rows = sqlx::query_as(statement)
        .bind(subjects)
        .bind(names)
        .bind(pictures)
        .fetch_all(pool)
        .await?;
    ids_by_subject(rows, users)
}

/// Keys rise with the order of insertion.
pub(super) async fn load_activities(
    pool: &PgPool,
    activities: &[NewActivity],
) -> Result<Vec<ActivityId>> {
    let (titles, bodies, authors, times) = bind::new_activities(activities)?;
    let statement = "INSERT INTO activities (title, body, author_id, created_at)
        SELECT title, body, author_id, created_at
        FROM unnest($1::text[], $2::text[], $3::bigint[], $4::timestamptz[])
            WITH ORDINALITY AS t (title, body, author_id, created_at, place)
        ORDER BY place RETURNING id";
    let mut keys: Vec<i64> = sqlx::query_scalar(statement)
        .bind(titles)
        .bind(bodies)
        .bind(authors)
        .bind(times)
        .fetch_all(pool)
        .await?;
    keys.sort_unstable();
    keys.into_iter().map(activity_id).collect()
}

pub(super) async fn load_likes(pool: &PgPool, likes: &[(ActivityId, Liker)]) -> Result<()> {
    let mut tx = pool.begin_with(WRITE).await?;
    // Activities first, as the worker does, so that neither waits for the other in a circle.
    write_tallies(&mut tx, &plan::tallies(likes)).await?;
    write_likes(&mut tx, likes).await?;
    tx.commit().await?;
    Ok(())
}
