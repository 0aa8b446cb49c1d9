//! The two ends of a keyset page, as a statement takes them.

use chrono::{DateTime, Utc};

use crate::domain::{FeedPlace, LikedPlace, Liker, Page, Take, Timestamp};

/// A page lies strictly between two places. Both are always given, at the worst as the ends of all that
/// there can be: a condition that may be absent would keep the planner from using the index.
pub(super) struct Bounds<C> {
    /// The lower place: what is sorted by, then the key.
    pub low: (C, i64),
    /// The higher place.
    pub high: (C, i64),
}

impl Bounds<Timestamp> {
    /// Of the likers of an activity, which rise.
    pub(super) fn of_likers(page: &Page<Liker>) -> Self {
        let place = |liker: Liker| (within_range(liker.at), liker.user.get());
        Self {
            low: page.after.map_or((EARLIEST, 0), place),
            high: page.before.map_or((latest(), i64::MAX), place),
        }
    }

    /// Of what a user likes, which falls.
    pub(super) fn of_liked(page: &Page<LikedPlace>) -> Self {
        let place = |liked: LikedPlace| (within_range(liked.at), liked.activity.get());
        Self {
            low: page.before.map_or((EARLIEST, 0), place),
            high: page.after.map_or((latest(), i64::MAX), place),
        }
    }
}

impl Bounds<i64> {
    /// Of the feed, which falls.
    pub(super) fn of_feed(page: &Page<FeedPlace>) -> Self {
        let place = |place: FeedPlace| (place.count, place.activity.get());
        Self {
            low: page.before.map_or((i64::MIN, 0), place),
            high: page.after.map_or((i64::MAX, i64::MAX), place),
        }
    }
}

/// One more than the page takes, to learn whether there are more.
pub(super) fn limit(take: Take) -> i64 {
    saturated(take.limit()).saturating_add(1)
}

/// A number of rows as SQL takes it.
pub(super) fn saturated(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// The order in which to read a list that rises: from the page's own end of the range.
pub(super) fn rising(take: Take) -> &'static str {
    if take.is_first() { "ASC" } else { "DESC" }
}

/// The order in which to read a list that falls.
pub(super) fn falling(take: Take) -> &'static str {
    if take.is_first() { "DESC" } else { "ASC" }
}

/// Redis' clock, which dates every like, begins in 1970.
const EARLIEST: Timestamp = Timestamp(0);

/// The last time that can be bound to a statement.
fn latest() -> Timestamp {
    Timestamp::from(DateTime::<Utc>::MAX_UTC)
}

/// A cursor comes from a client and may name any time; no row lies outside the range.
fn within_range(at: Timestamp) -> Timestamp {
    at.clamp(EARLIEST, latest())
}
