//! Answers put together from rows, the same for every database.

use std::collections::HashMap;
use std::hash::Hash;

use super::Result;
use super::rows::{
    CheckpointRow, PlaceRow, StateRow, ViewerRow, activity_id, corrupt, event_id, user_id,
};
use crate::domain::{
    Activity, ActivityId, EventId, Identity, LikeState, LikedActivity, LikedPlace, Liker, Page,
    Partition, Slice, Timestamp, UserId, Views,
};

/// Puts the likes of activities together.
pub(super) fn views<T: Into<Timestamp>>(
    states: Vec<StateRow<T>>,
    viewers: Vec<ViewerRow>,
    mut top: HashMap<ActivityId, Slice<Liker>>,
) -> Result<HashMap<ActivityId, Views>> {
    let mut liked_by: HashMap<ActivityId, Vec<(UserId, Option<i64>)>> = HashMap::new();
    for row in viewers {
        let likers = liked_by.entry(activity_id(row.activity_id)?).or_default();
        likers.push((user_id(row.user_id)?, row.rank));
    }
    let mut found = HashMap::with_capacity(states.len());
    for row in states {
        let activity = activity_id(row.id)?;
        let state = LikeState {
            count: row.count,
            changed_at: row.changed_at.map(Into::into),
            top: top.remove(&activity).map_or_else(Vec::new, |it| it.items),
            ..LikeState::default()
        };
        let liked_by = liked_by.remove(&activity).unwrap_or_default();
        found.insert(activity, Views::new(state, liked_by));
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

/// Cuts each list to the page.
pub(super) fn slices<K: Eq + Hash, T, C>(
    lists: HashMap<K, Vec<T>>,
    page: &Page<C>,
) -> HashMap<K, Slice<T>> {
    let slice = |(key, list)| (key, Slice::of(page, list));
    lists.into_iter().map(slice).collect()
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
