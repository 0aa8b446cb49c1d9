//! What users like.

use std::collections::HashMap;

use sqlx::{AssertSqlSafe, PgConnection, PgPool};

use super::READ;
use super::activities::activities;
use super::bind::{self, Time, time};
use crate::domain::{ActivityId, LikedActivity, LikedPlace, Page, Slice, UserId};
use crate::store::Result;
use crate::store::answers::{liked_activities, liked_places, slices};
use crate::store::bounds::{Bounds, falling, limit};
use crate::store::rows::PlaceRow;

pub(super) async fn liked(
    pool: &PgPool,
    users: &[UserId],
    page: &Page<LikedPlace>,
) -> Result<HashMap<UserId, Slice<LikedActivity>>> {
    let mut tx = pool.begin_with(READ).await?;
    let slices = slices(liked_places(places(&mut tx, users, page).await?)?, page);
    let mut ids: Vec<ActivityId> = Vec::new();
    for slice in slices.values() {
        ids.extend(slice.items.iter().map(|place| place.activity));
    }
    ids.sort_unstable();
    ids.dedup();
    let rows = activities(&mut *tx, &ids).await?;
    tx.commit().await?;
    let activities = rows.into_iter().map(|row| (row.id, row)).collect();
    liked_activities(slices, &activities)
}

/// Each user's piece is read from the index on its own, so the length of the lists does not matter.
async fn places(
    connection: &mut PgConnection,
    users: &[UserId],
    page: &Page<LikedPlace>,
) -> Result<Vec<PlaceRow<Time>>> {
    let Bounds { low, high } = Bounds::of_liked(page);
    let falling = falling(page.take);
    let statement = format!(
        "SELECT u.id AS owner, l.liked_at AS at, l.activity_id AS other
        FROM users u LEFT JOIN LATERAL (
            SELECT liked_at, activity_id FROM activities_likes
            WHERE user_id = u.id
                AND (liked_at, activity_id) > ($2, $3) AND (liked_at, activity_id) < ($4, $5)
            ORDER BY liked_at {falling}, activity_id {falling} LIMIT $6
        ) l ON true
        WHERE u.id = ANY($1)
        ORDER BY u.id, l.liked_at {falling}, l.activity_id {falling}"
    );
    let rows = sqlx::query_as(AssertSqlSafe(statement))
        .bind(bind::users(users))
        .bind(time(low.0)?)
        .bind(low.1)
        .bind(time(high.0)?)
        .bind(high.1)
        .bind(limit(page.take))
        .fetch_all(connection)
        .await?;
    Ok(rows)
}
