//! Rows as the statements of every database answer them, and what they mean. `T` is the database's own
//! kind of time. Data that no row of ours can have is named by table and column.

use sqlx::FromRow;

use super::{Counts, Error, Result};
use crate::domain::{Activity, ActivityId, EventId, Timestamp, User, UserId};

/// A user.
#[derive(FromRow)]
pub(super) struct UserRow {
    id: i64,
    subject: String,
    name: String,
    avatar_url: Option<String>,
}

impl TryFrom<UserRow> for User {
    type Error = Error;

    fn try_from(row: UserRow) -> Result<Self> {
        Ok(Self {
            id: user_id(row.id)?,
            subject: row
                .subject
                .parse()
                .map_err(|_| corrupt("users", "subject"))?,
            name: row.name,
            avatar_url: row.avatar_url,
        })
    }
}

/// An activity.
#[derive(FromRow)]
pub(super) struct ActivityRow<T> {
    id: i64,
    title: String,
    body: String,
    author_id: Option<i64>,
    created_at: T,
    like_count: i64,
}

impl<T: Into<Timestamp>> TryFrom<ActivityRow<T>> for Activity {
    type Error = Error;

    fn try_from(row: ActivityRow<T>) -> Result<Self> {
        Ok(Self {
            id: activity_id(row.id)?,
            title: row.title,
            body: row.body,
            author: row.author_id.map(user_id).transpose()?,
            created_at: row.created_at.into(),
            persisted_count: row.like_count,
        })
    }
}

/// A place in one of several lists. An owner whose list is empty has one row without a place.
#[derive(FromRow)]
pub(super) struct PlaceRow<T> {
    pub owner: i64,
    pub at: Option<T>,
    pub other: Option<i64>,
}

/// The count and the newest change of an activity's likes.
#[derive(FromRow)]
pub(super) struct StateRow<T> {
    pub id: i64,
    pub count: i64,
    pub changed_at: Option<T>,
}

/// An activity that a viewer likes.
#[derive(FromRow)]
pub(super) struct ViewerRow {
    pub activity_id: i64,
    pub user_id: i64,
    pub rank: Option<i64>,
}

/// How far a partition is persisted.
#[derive(FromRow)]
pub(super) struct CheckpointRow {
    pub partition: i32,
    pub last_id: String,
}

/// Two ways to count the likes of one activity.
#[derive(FromRow)]
pub(super) struct CountsRow {
    id: i64,
    counted: i64,
    found: i64,
}

impl TryFrom<CountsRow> for Counts {
    type Error = Error;

    fn try_from(row: CountsRow) -> Result<Self> {
        Ok(Self {
            activity: activity_id(row.id)?,
            counted: row.counted,
            rows: row.found,
        })
    }
}

/// Rows as what they mean.
pub(super) fn all<R, D>(rows: Vec<R>) -> Result<Vec<D>>
where
    D: TryFrom<R, Error = Error>,
{
    rows.into_iter().map(D::try_from).collect()
}

/// The key of a user.
pub(super) fn user_id(key: i64) -> Result<UserId> {
    UserId::new(key).map_err(|_| corrupt("users", "id"))
}

/// The key of an activity.
pub(super) fn activity_id(key: i64) -> Result<ActivityId> {
    ActivityId::new(key).map_err(|_| corrupt("activities", "id"))
}

/// A checkpoint.
pub(super) fn event_id(text: &str) -> Result<EventId> {
    text.parse()
        .map_err(|_| corrupt("like_checkpoints", "last_id"))
}

/// Fails where a statement did not touch a row for each of the items, all of which were locked.
pub(super) fn expect_rows<T>(touched: u64, items: &[T], table: &'static str) -> Result<()> {
    if usize::try_from(touched) == Ok(items.len()) {
        return Ok(());
    }
    Err(corrupt(table, "id"))
}

/// Names a column that holds what this program never writes.
pub(super) fn corrupt(table: &'static str, column: &'static str) -> Error {
    Error::Corrupt { table, column }
}
