//! Activities and the feed.

use sqlx::{AssertSqlSafe, SqliteExecutor, SqlitePool};

use super::WRITE;
use super::bind::{self, Time, time};
use crate::domain::{
    Activity, ActivityId, ActivityOrder, FeedPlace, NewActivity, Page, Slice, UserId,
};
use crate::store::bounds::{Bounds, falling, limit};
use crate::store::rows::{ActivityRow, all};
use crate::store::{Deletion, Result};

pub(super) async fn activities(
    executor: impl SqliteExecutor<'_>,
    ids: &[ActivityId],
) -> Result<Vec<Activity>> {
    let statement = "SELECT id, title, body, author_id, created_at, like_count
        FROM activities WHERE id IN (SELECT value FROM json_each(?1))";
    let rows: Vec<ActivityRow<Time>> = sqlx::query_as(statement)
        .bind(bind::activities(ids))
        .fetch_all(executor)
        .await?;
    all(rows)
}

pub(super) async fn feed(
    pool: &SqlitePool,
    order: ActivityOrder,
    page: &Page<FeedPlace>,
) -> Result<Slice<Activity>> {
    let rows = match order {
        ActivityOrder::Newest => newest(pool, page).await?,
        ActivityOrder::MostLiked => most_liked(pool, page).await?,
    };
    Ok(Slice::of(page, all(rows)?))
}

async fn newest(pool: &SqlitePool, page: &Page<FeedPlace>) -> Result<Vec<ActivityRow<Time>>> {
    let Bounds { low, high } = Bounds::of_feed(page);
    let falling = falling(page.take);
    let statement = format!(
        "SELECT id, title, body, author_id, created_at, like_count
        FROM activities WHERE id > ?1 AND id < ?2
        ORDER BY id {falling} LIMIT ?3"
    );
    let rows = sqlx::query_as(AssertSqlSafe(statement))
        .bind(low.1)
        .bind(high.1)
        .bind(limit(page.take))
        .fetch_all(pool)
        .await?;
    Ok(rows)
}

async fn most_liked(pool: &SqlitePool, page: &Page<FeedPlace>) -> Result<Vec<ActivityRow<Time>>> {
    let Bounds { low, high } = Bounds::of_feed(page);
    let falling = falling(page.take);
    let statement = format!(
        "SELECT id, title, body, author_id, created_at, like_count
        FROM activities WHERE (like_count, id) > (?1, ?2) AND (like_count, id) < (?3, ?4)
        ORDER BY like_count {falling}, id {falling} LIMIT ?5"
    );
    let rows = sqlx::query_as(AssertSqlSafe(statement))
        .bind(low.0)
        .bind(low.1)
        .bind(high.0)
        .bind(high.1)
        .bind(limit(page.take))
        .fetch_all(pool)
        .await?;
    Ok(rows)
}

pub(super) async fn create_activity(pool: &SqlitePool, new: &NewActivity) -> Result<Activity> {
    let statement = "INSERT INTO activities (title, body, author_id, created_at)
        VALUES (?1, ?2, ?3, ?4)
        RETURNING id, title, body, author_id, created_at, like_count";
    let row: ActivityRow<Time> = sqlx::query_as(statement)
        .bind(&new.title)
        .bind(&new.body)
        .bind(new.author.get())
        .bind(time(new.created_at)?)
        .fetch_one(pool)
        .await?;
    row.try_into()
}

pub(super) async fn delete_activity(
    pool: &SqlitePool,
    id: ActivityId,
    by: UserId,
) -> Result<Deletion> {
    let mut tx = pool.begin_with(WRITE).await?;
    let author: Option<Option<i64>> =
        sqlx::query_scalar("SELECT author_id FROM activities WHERE id = ?1")
            .bind(id.get())
            .fetch_optional(&mut *tx)
            .await?;
    let Some(author) = author else {
        return Ok(Deletion::NotFound);
    };
    if author != Some(by.get()) {
        return Ok(Deletion::NotAuthor);
    }
    sqlx::query("DELETE FROM activities_likes WHERE activity_id = ?1")
        .bind(id.get())
        .execute(&mut *tx)
        .await?;
    sqlx::query("DELETE FROM activities WHERE id = ?1")
        .bind(id.get())
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(Deletion::Deleted)
}
