//! The likes of activities, read from their rows.
//!
//! Excepted rows are those for which `IN` is true. `NOT IN` would make SQLite search the whole list for NULLs
//! at every row, because it cannot know that there are none.

use std::collections::HashMap;

use sqlx::{AssertSqlSafe, SqliteConnection, SqlitePool};

use super::READ;
use super::bind::{self, Time, time};
use crate::domain::{ActivityId, EventId, Liker, Page, Partition, Slice, Take, Views};
use crate::store::answers;
use crate::store::bounds::{Bounds, limit, rising};
use crate::store::rows::{CheckpointRow, PlaceRow, StateRow, ViewerRow};
use crate::store::{LookQuery, Result, RowsQuery, Snapshot};

pub(super) async fn look(pool: &SqlitePool, query: &LookQuery<'_>) -> Result<Snapshot<Views>> {
    let mut tx = pool.begin_with(READ).await?;
    let states = states(&mut tx, &query.rows).await?;
    let viewers = match query.viewers {
        [] => Vec::new(),
        _ => liked_by(&mut tx, query).await?,
    };
    let earliest = Page {
        take: Take::First(query.look.top),
        after: None,
        before: None,
    };
    let top = match query.look.top {
        0 => HashMap::new(),
        _ => slices(&mut tx, &query.rows, &earliest).await?,
    };
    let checkpoints = checkpoints(&mut tx, query.rows.partitions).await?;
    tx.commit().await?;
    let found = answers::views(states, viewers, top)?;
    Ok(Snapshot { found, checkpoints })
}

pub(super) async fn likers(
    pool: &SqlitePool,
    query: &RowsQuery<'_>,
    page: &Page<Liker>,
) -> Result<Snapshot<Slice<Liker>>> {
    let mut tx = pool.begin_with(READ).await?;
    let found = slices(&mut tx, query, page).await?;
    let checkpoints = checkpoints(&mut tx, query.partitions).await?;
    tx.commit().await?;
    Ok(Snapshot { found, checkpoints })
}

async fn states(
    connection: &mut SqliteConnection,
    query: &RowsQuery<'_>,
) -> Result<Vec<StateRow<Time>>> {
    let except = bind::pairs(query.except);
    let statement = "SELECT a.id, a.like_count - coalesce(e.count, 0) AS count,
            a.likes_changed_at AS changed_at
        FROM activities a LEFT JOIN (
            SELECT activity_id, count(*) AS count
            FROM (SELECT DISTINCT value ->> 0 AS activity, value ->> 1 AS user FROM json_each(?2))
            -- CROSS keeps this order: otherwise all likes of an activity are read and compared.
            CROSS JOIN activities_likes ON activity_id = activity AND user_id = user
            GROUP BY activity_id
        ) e ON e.activity_id = a.id
        WHERE a.id IN (SELECT value FROM json_each(?1))";
    let rows = sqlx::query_as(statement)
        .bind(bind::activities(query.activities))
        .bind(except)
        .fetch_all(connection)
        .await?;
    Ok(rows)
}

/// The rank is counted, which takes as long as there are earlier likes; so only on demand.
async fn liked_by(
    connection: &mut SqliteConnection,
    query: &LookQuery<'_>,
) -> Result<Vec<ViewerRow>> {
    let except = bind::pairs(query.rows.except);
    let statement = "SELECT l.activity_id, l.user_id, CASE WHEN ?3 THEN (
            SELECT count(*) FROM activities_likes r
            WHERE r.activity_id = l.activity_id
                AND (r.liked_at, r.user_id) <= (l.liked_at, l.user_id)
                AND ((r.activity_id, r.user_id)
                    IN (SELECT value ->> 0, value ->> 1 FROM json_each(?2))) IS NOT TRUE
        ) END AS rank
        FROM (SELECT DISTINCT value ->> 0 AS activity, value ->> 1 AS user FROM json_each(?1))
        CROSS JOIN activities_likes l ON l.activity_id = activity AND l.user_id = user
        WHERE ((l.activity_id, l.user_id)
            IN (SELECT value ->> 0, value ->> 1 FROM json_each(?2))) IS NOT TRUE";
    let rows = sqlx::query_as(statement)
        .bind(bind::pairs(query.viewers))
        .bind(except)
        .bind(query.look.rank)
        .fetch_all(connection)
        .await?;
    Ok(rows)
}

/// Each activity's piece is read from the index on its own, so the length of the lists does not matter.
/// What other databases call a lateral join is a detour by JSON here; a plain `IN` reads whole lists.
async fn slices(
    connection: &mut SqliteConnection,
    query: &RowsQuery<'_>,
    page: &Page<Liker>,
) -> Result<HashMap<ActivityId, Slice<Liker>>> {
    let except = bind::pairs(query.except);
    let Bounds { low, high } = Bounds::of_likers(page);
    let rising = rising(page.take);
    let statement = format!(
        "SELECT a.id AS owner, l.value ->> 0 AS at, l.value ->> 1 AS other
        FROM activities a LEFT JOIN json_each((
            SELECT json_group_array(json_array(liked_at, user_id)) FROM (
                SELECT liked_at, user_id FROM activities_likes
                WHERE activity_id = a.id
                    AND (liked_at, user_id) > (?2, ?3) AND (liked_at, user_id) < (?4, ?5)
                    AND ((activity_id, user_id)
                        IN (SELECT value ->> 0, value ->> 1 FROM json_each(?6))) IS NOT TRUE
                ORDER BY liked_at {rising}, user_id {rising} LIMIT ?7
            )
        )) l
        WHERE a.id IN (SELECT value FROM json_each(?1))
        ORDER BY a.id, at {rising}, other {rising}"
    );
    let rows: Vec<PlaceRow<Time>> = sqlx::query_as(AssertSqlSafe(statement))
        .bind(bind::activities(query.activities))
        .bind(time(low.0)?)
        .bind(low.1)
        .bind(time(high.0)?)
        .bind(high.1)
        .bind(except)
        .bind(limit(page.take))
        .fetch_all(connection)
        .await?;
    Ok(answers::slices(answers::likers(rows)?, page))
}

async fn checkpoints(
    connection: &mut SqliteConnection,
    partitions: &[Partition],
) -> Result<HashMap<Partition, EventId>> {
    if partitions.is_empty() {
        return Ok(HashMap::new());
    }
    let statement = "SELECT partition, last_id FROM like_checkpoints WHERE partition IN (SELECT value FROM json_each(?1))";
    let rows: Vec<CheckpointRow> = sqlx::query_as(statement)
        .bind(bind::partitions(partitions))
        .fetch_all(connection)
        .await?;
    answers::checkpoints(rows)
}
