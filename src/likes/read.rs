//! Reading likes: from the sets, and where a set is missing at once from SQL.

use std::collections::HashMap;
use std::error::Error as StdError;

use metrics::counter;

use super::pending::LookQuestion;
use super::{Likes, Looks, Result};
use crate::cache::Error as CacheError;
use crate::domain::{ActivityId, LikeState, Liker, Look, Page, Slice, UserId};
use crate::telemetry;

impl Likes {
    /// The likes of activities, each as of one moment, in one round trip to Redis.
    ///
    /// # Errors
    /// `Unavailable` when neither Redis nor SQL can tell.
    pub async fn look(
        &self,
        activities: &[ActivityId],
        viewer: Option<UserId>,
        look: Look,
    ) -> Result<Looks> {
        let question = LookQuestion { viewer, look };
        match self.cache.look(activities, viewer, look).await {
            Ok(found) => {
                let (mut states, missing) = divided(found);
                let pending = self.pending_of(&missing).await?;
                let persisted = without(&missing, &pending);
                states.extend(self.persisted_looks(&persisted, question).await?);
                let overlaid = self.pending_looks(&pending, question).await?;
                let unclear = left_out(&pending, &overlaid);
                states.extend(overlaid);
                states.extend(self.sql_looks(&unclear, question).await?);
                Ok(Looks {
                    states,
                    degraded: !unclear.is_empty(),
                })
            }
            Err(error) => {
                let activities = fall_back(error, activities)?;
                Ok(Looks {
                    states: self.sql_looks(activities, question).await?,
                    degraded: true,
                })
            }
        }
    }

    /// The same page of the likers of each activity, earliest first: members, whether or not they still have a user row.
    ///
    /// # Errors
    /// `Unavailable` when neither Redis nor SQL can tell.
    pub async fn likers(
        &self,
        activities: &[ActivityId],
        page: &Page<Liker>,
    ) -> Result<HashMap<ActivityId, Slice<Liker>>> {
        match self.cache.likers(activities, page).await {
            Ok(found) => {
                let (mut slices, missing) = divided(found);
                let pending = self.pending_of(&missing).await?;
                let persisted = without(&missing, &pending);
                slices.extend(self.sql.likers.get(*page, &persisted).await?);
                let overlaid = self.pending_likers(&pending, page).await?;
                let unclear = left_out(&pending, &overlaid);
                slices.extend(overlaid);
                slices.extend(self.sql.likers.get(*page, &unclear).await?);
                Ok(slices)
            }
            Err(error) => {
                let activities = fall_back(error, activities)?;
                self.sql.likers.get(*page, activities).await
            }
        }
    }

    /// Those of the activities that have events not yet persisted.
    async fn pending_of(&self, missing: &[ActivityId]) -> Result<Vec<ActivityId>> {
        if missing.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.cache.pending(missing).await?.into_keys().collect())
    }

    /// SQL alone is right about these; a read never waits for their rebuild.
    async fn persisted_looks(
        &self,
        activities: &[ActivityId],
        question: LookQuestion,
    ) -> Result<HashMap<ActivityId, LikeState>> {
        let states = self.sql_looks(activities, question).await?;
        for &activity in states.keys() {
            self.rebuilds.begin(activity);
        }
        Ok(states)
    }

    async fn sql_looks(
        &self,
        activities: &[ActivityId],
        question: LookQuestion,
    ) -> Result<HashMap<ActivityId, LikeState>> {
        let LookQuestion { viewer, look } = question;
        let seen: Vec<_> = activities.iter().map(|id| (*id, viewer)).collect();
        let states = self.sql.looks.get(look, &seen).await?.into_iter();
        Ok(states.map(|((id, _), state)| (id, state)).collect())
    }
}

/// What the sets say, and the activities whose sets are missing.
fn divided<T>(found: HashMap<ActivityId, Option<T>>) -> (HashMap<ActivityId, T>, Vec<ActivityId>) {
    let mut present = HashMap::with_capacity(found.len());
    let mut missing = Vec::new();
    for (activity, value) in found {
        match value {
            Some(value) => drop(present.insert(activity, value)),
            None => missing.push(activity),
        }
    }
    counter!(telemetry::CACHE_READS, "result" => "hit").increment(present.len() as u64);
    counter!(telemetry::CACHE_READS, "result" => "miss").increment(missing.len() as u64);
    (present, missing)
}

fn without(missing: &[ActivityId], pending: &[ActivityId]) -> Vec<ActivityId> {
    counter!(telemetry::CACHE_READS, "result" => "pending").increment(pending.len() as u64);
    let persisted = missing
        .iter()
        .filter(|activity| !pending.contains(activity));
    persisted.copied().collect()
}

/// The activities that nothing was found for.
fn left_out<T>(activities: &[ActivityId], found: &HashMap<ActivityId, T>) -> Vec<ActivityId> {
    let unclear = activities
        .iter()
        .filter(|activity| !found.contains_key(activity));
    unclear.copied().collect()
}

/// With Redis away, reads come from SQL; with something wrong in Redis, they do not hide it.
fn fall_back(error: CacheError, activities: &[ActivityId]) -> Result<&[ActivityId]> {
    match error {
        CacheError::Unexpected(_) => Err(error.into()),
        error => {
            let unavailable = activities.len() as u64;
            counter!(telemetry::CACHE_READS, "result" => "unavailable").increment(unavailable);
            tracing::warn!(
                error = &error as &dyn StdError,
                "Redis is away: answering from SQL"
            );
            Ok(activities)
        }
    }
}
