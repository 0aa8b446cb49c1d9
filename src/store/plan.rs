//! What a batch changes, worked out from what the database has. It is the same for every database:
//! the affected rows of an upsert, which would be the short way, differ by engine.

use std::collections::{BTreeMap, HashSet};

use super::rows::{activity_id, user_id};
use super::{Batch, Result, Write};
use crate::domain::{ActivityId, DeadLetter, Liker, Timestamp, UserId};

/// What the database has of all that a batch speaks of, locked against others.
pub(super) struct Known {
    /// The activities that exist.
    pub activities: HashSet<ActivityId>,
    /// The users that exist.
    pub users: HashSet<UserId>,
    /// The rows that exist.
    pub likes: HashSet<(ActivityId, UserId)>,
}

impl Known {
    /// Takes the keys as they were found.
    pub(super) fn new(
        activities: Vec<i64>,
        users: Vec<i64>,
        likes: Vec<(i64, i64)>,
    ) -> Result<Self> {
        let like = |(activity, user)| Ok((activity_id(activity)?, user_id(user)?));
        Ok(Self {
            activities: activities
                .into_iter()
                .map(activity_id)
                .collect::<Result<_>>()?,
            users: users.into_iter().map(user_id).collect::<Result<_>>()?,
            likes: likes.into_iter().map(like).collect::<Result<_>>()?,
        })
    }
}

/// What to write.
#[derive(Default)]
pub(super) struct Plan {
    /// Rows to be made, or given their newest date.
    pub likes: Vec<(ActivityId, Liker)>,
    /// Rows to be deleted; all of them exist.
    pub unlikes: Vec<(ActivityId, UserId)>,
    /// What changes about activities, in the order of keys.
    pub tallies: Vec<Tally>,
    /// Events that cannot be persisted, in the order of the stream.
    pub set_aside: Vec<DeadLetter>,
    /// Activities that do not exist, in the order of keys.
    pub gone: Vec<ActivityId>,
    /// Activities that exist but keep less than was liked, in the order of keys.
    pub refused: Vec<ActivityId>,
}

/// What changes about one activity.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tally {
    /// Which activity.
    pub activity: ActivityId,
    /// Rows gained minus rows lost.
    pub gained: i64,
    /// The newest change of its likes.
    pub changed_at: Option<Timestamp>,
}

/// The activities of a batch, in the order of keys, in which they are locked.
pub(super) fn activities(batch: &Batch) -> Vec<ActivityId> {
    let written = batch.writes.iter().map(|write| write.activity);
    let changed = batch.changed.iter().map(|&(activity, _)| activity);
    sorted(written.chain(changed))
}

/// The users without whom a like of the batch cannot be kept, in the order of keys.
pub(super) fn likers(batch: &Batch) -> Vec<UserId> {
    let likes = batch.writes.iter().filter(|write| write.liked_at.is_some());
    sorted(likes.map(|write| write.user))
}

impl Plan {
    /// Works out what a batch changes.
    pub(super) fn of(batch: &Batch, known: &Known) -> Self {
        let mut plan = Self {
            set_aside: batch.garbage.clone(),
            ..Self::default()
        };
        let mut tallies = Tallies::default();
        for activity in activities(batch) {
            if known.activities.contains(&activity) {
                tallies.note(activity, 0, None);
            } else {
                plan.gone.push(activity);
            }
        }
        for &(activity, at) in &batch.changed {
            if known.activities.contains(&activity) {
                tallies.note(activity, 0, Some(at));
            }
        }
        for write in &batch.writes {
            plan.add(write, known, &mut tallies);
        }
        plan.tallies = tallies.finish();
        plan.set_aside.sort_by_key(|letter| letter.id);
        plan
    }

    fn add(&mut self, write: &Write, known: &Known, tallies: &mut Tallies) {
        let row = (write.activity, write.user);
        let exists = known.likes.contains(&row);
        let Some(at) = write.liked_at else {
            if exists {
                self.unlikes.push(row);
                tallies.note(write.activity, -1, None);
            }
            return;
        };
        if !known.activities.contains(&write.activity) {
            self.set_aside.push(letter(write, at, "activity_gone"));
        } else if !known.users.contains(&write.user) {
            self.set_aside.push(letter(write, at, "user_gone"));
            if self.refused.last() != Some(&write.activity) {
                self.refused.push(write.activity);
            }
        } else {
            let user = write.user;
            self.likes.push((write.activity, Liker { at, user }));
            tallies.note(write.activity, i64::from(!exists), None);
        }
    }
}

/// What likes that are all new change about their activities.
pub(super) fn tallies(likes: &[(ActivityId, Liker)]) -> Vec<Tally> {
    let mut tallies = Tallies::default();
    for (activity, liker) in likes {
        tallies.note(*activity, 1, Some(liker.at));
    }
    tallies.finish()
}

/// Tallies under way.
#[derive(Default)]
struct Tallies(BTreeMap<ActivityId, (i64, Option<Timestamp>)>);

impl Tallies {
    fn note(&mut self, activity: ActivityId, gained: i64, changed_at: Option<Timestamp>) {
        let tally = self.0.entry(activity).or_default();
        tally.0 += gained;
        tally.1 = tally.1.max(changed_at);
    }

    fn finish(self) -> Vec<Tally> {
        let tally = |(activity, (gained, changed_at))| Tally {
            activity,
            gained,
            changed_at,
        };
        self.0.into_iter().map(tally).collect()
    }
}

fn letter(write: &Write, at: Timestamp, reason: &'static str) -> DeadLetter {
    let (activity, user) = (write.activity, write.user);
    DeadLetter {
        id: write.event,
        reason,
        payload: format!("activity {activity}, user {user}, liked at {}", at.0),
    }
}

fn sorted<T: Ord>(ids: impl Iterator<Item = T>) -> Vec<T> {
    let mut ids: Vec<T> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}
