//! The likes of activities, read from their rows.

use std::collections::HashMap;

use sqlx::{AssertSqlSafe, PgConnection, PgPool};

use super::READ;
use super::bind::{self, Time, time};
use crate::domain::{ActivityId, EventId, Liker, Page, Partition, Slice, Take, Views};
use crate::store::answers;
use crate::store::bounds::{Bounds, limit, rising};
use crate::store::rows::{CheckpointRow, PlaceRow, StateRow, ViewerRow};
use crate::store::{LookQuery, Result, RowsQuery, Snapshot};

pub(super) async fn look(pool: &PgPool, query: &LookQuery<'_>) -> Result<Snapshot<Views>> {
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
    pool: &PgPool,
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
    connection: &mut PgConnection,
    query: &RowsQuery<'_>,
) -> Result<Vec<StateRow<Time>>> {
    let (except_activities, except_users) = bind::pairs(query.except);
    let statement = "SELECT a.id, a.like_count - coalesce(e.count, 0) AS count,
            a.likes_changed_at AS changed_at
        FROM activities a LEFT JOIN (
            SELECT activity_id, count(*) AS count FROM activities_likes
            WHERE (activity_id, user_id) IN (SELECT * FROM unnest($2::bigint[], $3::bigint[]))
            GROUP BY activity_id
        ) e ON e.activity_id = a.id
        WHERE a.id = ANY($1)";
    let rows = sqlx::query_as(statement)
        .bind(bind::activities(query.activities))
        .bind(except_activities)
        .bind(except_users)
        .fetch_all(connection)
        .await?;
    Ok(rows)
}

/// The rank is counted, which takes as long as there are earlier likes; so only on demand.
async fn liked_by(connection: &mut PgConnection, query: &LookQuery<'_>) -> Result<Vec<ViewerRow>> {
    let (activities, users) = bind::pairs(query.viewers);
    let (except_activities, except_users) = bind::pairs(query.rows.except);
    let statement = "SELECT l.activity_id, l.user_id, CASE WHEN $5 THEN (
            SELECT count(*) FROM activities_likes r
            WHERE r.activity_id = l.activity_id
                AND (r.liked_at, r.user_id) <= (l.liked_at, l.user_id)
                AND (r.activity_id, r.user_id)
                    NOT IN (SELECT * FROM unnest($3::bigint[], $4::bigint[]))
        ) END AS rank
        FROM activities_likes l
        WHERE (l.activity_id, l.user_id) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))
            AND (l.activity_id, l.user_id)
                NOT IN (SELECT * FROM unnest($3::bigint[], $4::bigint[]))";
    let rows = sqlx::query_as(statement)
        .bind(activities)
        .bind(users)
        .bind(except_activities)
        .bind(except_users)
        .bind(query.look.rank)
        .fetch_all(connection)
        .await?;
    Ok(rows)
}

/// Each activity's piece is read from the index on its own, so the length of the lists does not matter.
async fn slices(
    connection: &mut PgConnection,
    query: &RowsQuery<'_>,
    page: &Page<Liker>,
) -> Result<HashMap<ActivityId, Slice<Liker>>> {
    let (except_activities, except_users) = bind::pairs(query.except);
    let Bounds { low, high } = Bounds::of_likers(page);
    let rising = rising(page.take);
    let statement = format!(
        "SELECT a.id AS owner, l.liked_at AS at, l.user_id AS other
        FROM activities a LEFT JOIN LATERAL (
            SELECT liked_at, user_id FROM activities_likes
            WHERE activity_id = a.id
                AND (liked_at, user_id) > ($2, $3) AND (liked_at, user_id) < ($4, $5)
                AND (activity_id, user_id)
                    NOT IN (SELECT * FROM unnest($6::bigint[], $7::bigint[]))
            ORDER BY liked_at {rising}, user_id {rising} LIMIT $8
        ) l ON true
        WHERE a.id = ANY($1)
        ORDER BY a.id, l.liked_at {rising}, l.user_id {rising}"
    );
    let rows: Vec<PlaceRow<Time>> = sqlx::query_as(AssertSqlSafe(statement))
        .bind(bind::activities(query.activities))
        .bind(time(low.0)?)
        .bind(low.1)
        .bind(time(high.0)?)
        .bind(high.1)
        .bind(except_activities)
        .bind(except_users)
        .bind(limit(page.take))
        .fetch_all(connection)
        .await?;
    Ok(answers::slices(answers::likers(rows)?, page))
}

async fn checkpoints(
    connection: &mut PgConnection,
    partitions: &[Partition],
) -> Result<HashMap<Partition, EventId>> {
    if partitions.is_empty() {
        return Ok(HashMap::new());
    }
    let statement = "SELECT partition, last_id FROM like_checkpoints WHERE partition = ANY($1)";
    let rows: Vec<CheckpointRow> = sqlx::query_as(statement)
        .bind(bind::partitions(partitions))
        .fetch_all(connection)
        .await?;
    answers::checkpoints(rows)
}
