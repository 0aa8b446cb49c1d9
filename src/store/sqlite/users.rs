//! Users.

use sqlx::SqlitePool;

use super::bind;
use crate::domain::{Identity, Subject, User, UserId};
use crate::store::Result;
use crate::store::rows::{UserRow, all, user_id};

pub(super) async fn user_of(pool: &SqlitePool, subject: &Subject) -> Result<Option<UserId>> {
    let key = sqlx::query_scalar("SELECT id FROM users WHERE subject = ?1")
        .bind(subject.as_str())
        .fetch_optional(pool)
        .await?;
    key.map(user_id).transpose()
}

/// Nearly always nothing has changed, and reading does not wait for the writer.
pub(super) async fn ensure_user(
    readers: &SqlitePool,
    writer: &SqlitePool,
    identity: &Identity,
) -> Result<UserId> {
    let unchanged = "SELECT id FROM users WHERE subject = ?1 AND name = coalesce(?2, name)
        AND avatar_url IS coalesce(?3, avatar_url)";
    let key = sqlx::query_scalar(unchanged)
        .bind(identity.subject.as_str())
        .bind(&identity.name)
        .bind(&identity.picture)
        .fetch_optional(readers)
        .await?;
    if let Some(key) = key {
        return user_id(key);
    }
    let upsert = "INSERT INTO users (subject, name, avatar_url)
        VALUES (?1, coalesce(?2, ?1), ?3)
        ON CONFLICT (subject) DO UPDATE
        SET name = coalesce(?2, users.name), avatar_url = coalesce(?3, users.avatar_url)
        RETURNING id";
    let key = sqlx::query_scalar(upsert)
        .bind(identity.subject.as_str())
        .bind(&identity.name)
        .bind(&identity.picture)
        .fetch_one(writer)
        .await?;
    user_id(key)
}

pub(super) async fn users(pool: &SqlitePool, ids: &[UserId]) -> Result<Vec<User>> {
    let rows: Vec<UserRow> =
        sqlx::query_as("SELECT id, subject, name, avatar_url FROM users WHERE id IN (SELECT value FROM json_each(?1))")
            .bind(bind::users(ids))
            .fetch_all(pool)
            .await?;
    all(rows)
}
