//! Rows as the statements of every database answer them, and what they mean. `T` is the database's own
//! kind of time. Data that no row of ours can have is named by table and column.

use std::collections::HashMap;

use sqlx::FromRow;

use super::{Counts, Error, Result};
use crate::domain::{
    Activity, ActivityId, EventId, Identity, LikeState, LikedActivity, LikedPlace, Liker, Page,
    Partition, Slice, Timestamp, User, UserId,
};

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
    owner: i64,
    at: Option<T>,
    other: Option<i64>,
}

/// The count and the newest change of an activity's likes.
#[derive(FromRow)]
pub(super) struct StateRow<T> {
    id: i64,
    count: i64,
    changed_at: Option<T>,
}

/// An activity that the viewer likes.
#[derive(FromRow)]
pub(super) struct ViewerRow {
    activity_id: i64,
    rank: Option<i64>,
}

/// How far a partition is persisted.
#[derive(FromRow)]
pub(super) struct CheckpointRow {
    partition: i32,
    last_id: String,
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

/// Puts the likes of activities together.
pub(super) fn states<T: Into<Timestamp>>(
    states: Vec<StateRow<T>>,
    viewer: Vec<ViewerRow>,
    top: HashMap<ActivityId, Slice<Liker>>,
) -> Result<HashMap<ActivityId, LikeState>> {
    let mut found = HashMap::with_capacity(states.len());
    for row in states {
        let state = LikeState {
            count: row.count,
            changed_at: row.changed_at.map(Into::into),
            ..LikeState::default()
        };
        found.insert(activity_id(row.id)?, state);
    }
    for row in viewer {
        if let Some(state) = found.get_mut(&activity_id(row.activity_id)?) {
            state.liked = true;
            state.rank = row.rank;
        }
    }
    for (activity, earliest) in top {
        if let Some(state) = found.get_mut(&activity) {
            state.top = earliest.items;
        }
    }
    Ok(found)
}

/// The likers of each activity, in the order of the rows.
pub(super) fn likers<T: Into<Timestamp>>(
    rows: Vec<PlaceRow<T>>,
) -> Result<HashMap<ActivityId, Vec<Liker>>> {
    let mut lists: HashMap<ActivityId, Vec<Liker>> = HashMap::new();
    for row in rows {
        let list = lists.entry(activity_id(row.owner)?).or_default();
        if let (Some(at), Some(user)) = (row.at, row.other) {
            let (at, user) = (at.into(), user_id(user)?);
            list.push(Liker { at, user });
        }
    }
    Ok(lists)
}

/// What each user likes, in the order of the rows.
pub(super) fn liked_places<T: Into<Timestamp>>(
    rows: Vec<PlaceRow<T>>,
) -> Result<HashMap<UserId, Vec<LikedPlace>>> {
    let mut lists: HashMap<UserId, Vec<LikedPlace>> = HashMap::new();
    for row in rows {
        let list = lists.entry(user_id(row.owner)?).or_default();
        if let (Some(at), Some(activity)) = (row.at, row.other) {
            let (at, activity) = (at.into(), activity_id(activity)?);
            list.push(LikedPlace { at, activity });
        }
    }
    Ok(lists)
}

/// Cuts each list to the page.
pub(super) fn slices<K: Eq + std::hash::Hash, T, C>(
    lists: HashMap<K, Vec<T>>,
    page: &Page<C>,
) -> HashMap<K, Slice<T>> {
    let slice = |(key, list)| (key, Slice::of(page, list));
    lists.into_iter().map(slice).collect()
}

/// Puts activities in the places where they are liked.
pub(super) fn liked_activities(
    slices: HashMap<UserId, Slice<LikedPlace>>,
    activities: &HashMap<ActivityId, Activity>,
) -> Result<HashMap<UserId, Slice<LikedActivity>>> {
    let liked = |place: LikedPlace| {
        let activity = activities.get(&place.activity);
        Ok(LikedActivity {
            liked_at: place.at,
            activity: activity
                .ok_or_else(|| corrupt("activities_likes", "activity_id"))?
                .clone(),
        })
    };
    let filled = |(user, slice): (UserId, Slice<LikedPlace>)| {
        let items: Result<Vec<LikedActivity>> = slice.items.into_iter().map(liked).collect();
        let slice = Slice {
            items: items?,
            has_previous: slice.has_previous,
            has_next: slice.has_next,
        };
        Ok((user, slice))
    };
    slices.into_iter().map(filled).collect()
}

/// Checkpoints by partition.
pub(super) fn checkpoints(rows: Vec<CheckpointRow>) -> Result<HashMap<Partition, EventId>> {
    let mut checkpoints = HashMap::with_capacity(rows.len());
    for row in rows {
        let partition =
            u16::try_from(row.partition).map_err(|_| corrupt("like_checkpoints", "partition"))?;
        checkpoints.insert(Partition(partition), event_id(&row.last_id)?);
    }
    Ok(checkpoints)
}

/// The keys of users in the order in which they were asked for.
pub(super) fn ids_by_subject(
    rows: Vec<(String, i64)>,
    identities: &[Identity],
) -> Result<Vec<UserId>> {
    let keys: HashMap<String, i64> = rows.into_iter().collect();
    let key = |identity: &Identity| keys.get(identity.subject.as_str()).copied();
    identities
        .iter()
        .map(|identity| user_id(key(identity).ok_or_else(|| corrupt("users", "subject"))?))
        .collect()
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
