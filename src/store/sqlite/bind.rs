//! Domain values as parameters of statements: lists as JSON, whose integers SQLite reads as 64-bit
//! numbers, times as microseconds since 1970.

use serde_json::{Value, json};

use crate::domain::{
    ActivityId, DeadLetter, Identity, Liker, NewActivity, Partition, Timestamp, UserId,
};
use crate::store::Result;
use crate::store::plan::Tally;
use crate::store::rows::corrupt;

/// How the database keeps a time.
#[derive(sqlx::Type)]
#[sqlx(transparent)]
pub(super) struct Time(pub i64);

impl From<Time> for Timestamp {
    fn from(time: Time) -> Self {
        Self(time.0)
    }
}

/// A time of a row of likes. Refuses what no calendar has, as the other databases do.
pub(super) fn time(at: Timestamp) -> Result<Time> {
    at.to_utc().ok_or(corrupt("activities_likes", "liked_at"))?;
    Ok(Time(at.0))
}

/// Keys of users.
pub(super) fn users(ids: &[UserId]) -> String {
    array(ids.iter().map(|id| json!(id.get())))
}

/// Keys of activities.
pub(super) fn activities(ids: &[ActivityId]) -> String {
    array(ids.iter().map(|id| json!(id.get())))
}

/// Keys of rows of likes.
pub(super) fn pairs(rows: &[(ActivityId, UserId)]) -> String {
    array(
        rows.iter()
            .map(|(activity, user)| json!([activity.get(), user.get()])),
    )
}

/// Numbers of partitions.
pub(super) fn partitions(partitions: &[Partition]) -> String {
    array(partitions.iter().map(|partition| json!(partition.0)))
}

/// Rows of likes.
pub(super) fn likes(rows: &[(ActivityId, Liker)]) -> Result<String> {
    let row = |(activity, liker): &(ActivityId, Liker)| {
        Ok(json!([activity.get(), liker.user.get(), time(liker.at)?.0]))
    };
    Ok(array(rows.iter().map(row).collect::<Result<Vec<Value>>>()?))
}

/// What changes about activities.
pub(super) fn tallies(tallies: &[Tally]) -> Result<String> {
    let row = |tally: &Tally| {
        let changed_at = tally.changed_at.map(time).transpose()?;
        let changed_at = changed_at.map(|time| time.0);
        Ok(json!([tally.activity.get(), tally.gained, changed_at]))
    };
    Ok(array(
        tallies.iter().map(row).collect::<Result<Vec<Value>>>()?,
    ))
}

/// Dead letters.
pub(super) fn letters(letters: &[DeadLetter]) -> String {
    array(
        letters
            .iter()
            .map(|letter| json!([letter.id.to_string(), letter.reason, letter.payload])),
    )
}

/// Identities.
pub(super) fn identities(identities: &[Identity]) -> String {
    array(identities.iter().map(|identity| {
        let (name, picture) = (&identity.name, &identity.picture);
        json!([identity.subject.as_str(), name, picture])
    }))
}

/// Activities to be made.
pub(super) fn new_activities(activities: &[NewActivity]) -> Result<String> {
    let row = |new: &NewActivity| {
        let created_at = time(new.created_at)?.0;
        Ok(json!([new.title, new.body, new.author.get(), created_at]))
    };
    Ok(array(
        activities.iter().map(row).collect::<Result<Vec<Value>>>()?,
    ))
}

fn array(values: impl IntoIterator<Item = Value>) -> String {
    Value::Array(values.into_iter().collect()).to_string()
}
