//! Domain values as parameters of statements: lists as arrays, times as `timestamptz`.

use chrono::{DateTime, Utc};

use crate::domain::{
    ActivityId, DeadLetter, Identity, Liker, NewActivity, Partition, Timestamp, UserId,
};
use crate::store::Result;
use crate::store::plan::Tally;
use crate::store::rows::corrupt;

/// How the database keeps a time.
pub(super) type Time = DateTime<Utc>;

/// A column of keys or other numbers.
type Numbers = Vec<i64>;
/// A column of texts.
type Texts<'a> = Vec<&'a str>;

/// A time of a row of likes.
pub(super) fn time(at: Timestamp) -> Result<Time> {
    at.to_utc().ok_or(corrupt("activities_likes", "liked_at"))
}

/// Keys of users.
pub(super) fn users(ids: &[UserId]) -> Numbers {
    ids.iter().map(|id| id.get()).collect()
}

/// Keys of activities.
pub(super) fn activities(ids: &[ActivityId]) -> Numbers {
    ids.iter().map(|id| id.get()).collect()
}

/// Keys of rows of likes, column by column.
pub(super) fn pairs(rows: &[(ActivityId, UserId)]) -> (Numbers, Numbers) {
    rows.iter()
        .map(|(activity, user)| (activity.get(), user.get()))
        .unzip()
}

/// Numbers of partitions.
pub(super) fn partitions(partitions: &[Partition]) -> Vec<i32> {
    partitions
        .iter()
        .map(|partition| partition.0.into())
        .collect()
}

/// Rows of likes, column by column.
pub(super) fn likes(rows: &[(ActivityId, Liker)]) -> Result<(Numbers, Numbers, Vec<Time>)> {
    let row = |(activity, liker): &(ActivityId, Liker)| {
        Ok((activity.get(), liker.user.get(), time(liker.at)?))
    };
    rows.iter().map(row).collect()
}

/// What changes about activities, column by column.
pub(super) fn tallies(tallies: &[Tally]) -> Result<(Numbers, Numbers, Vec<Option<Time>>)> {
    let row = |tally: &Tally| {
        let changed_at = tally.changed_at.map(time).transpose()?;
        Ok((tally.activity.get(), tally.gained, changed_at))
    };
    tallies.iter().map(row).collect()
}

/// Dead letters, column by column.
pub(super) fn letters(letters: &[DeadLetter]) -> (Vec<String>, Texts<'_>, Texts<'_>) {
    letters
        .iter()
        .map(|letter| {
            (
                letter.id.to_string(),
                letter.reason,
                letter.payload.as_str(),
            )
        })
        .collect()
}

/// Identities, column by column.
pub(super) fn identities(
    identities: &[Identity],
) -> (Texts<'_>, Vec<Option<&str>>, Vec<Option<&str>>) {
    identities
        .iter()
        .map(|identity| {
            let (name, picture) = (identity.name.as_deref(), identity.picture.as_deref());
            (identity.subject.as_str(), name, picture)
        })
        .collect()
}

/// Activities to be made, column by column.
pub(super) fn new_activities(
    activities: &[NewActivity],
) -> Result<(Texts<'_>, Texts<'_>, Numbers, Vec<Time>)> {
    activities
        .iter()
        .map(|new| {
            let (title, body) = (new.title.as_str(), new.body.as_str());
            Ok((title, body, new.author.get(), time(new.created_at)?))
        })
        .collect()
}
