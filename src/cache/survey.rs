//! What reconciling looks at.

use super::keys::SENTINEL;
use super::look::{next, range, slice};
use super::{Cache, Result, micros};
use crate::domain::{ActivityId, Liker, Page, Partition, Slice, Timestamp};

/// A page of a set as it stands, and its version at the same moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetPage {
    /// Its version, 0 if it was never changed; None if it has no sentinel.
    pub version: Option<Timestamp>,
    /// The likers of the page.
    pub likers: Slice<Liker>,
}

impl Cache {
    /// The activities of a partition that have a set.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn sets(&self, partition: Partition) -> Result<Vec<ActivityId>> {
        let keys = self.keys_like(&self.keys.sets(partition)).await?;
        let mut activities: Vec<_> = keys
            .iter()
            .filter_map(|key| self.keys.activity_of(key))
            .collect();
        activities.sort_unstable();
        activities.dedup();
        Ok(activities)
    }

    /// A page of one set, whatever state it is in; None if it is missing.
    ///
    /// # Errors
    /// Redis is away, or a member is no user.
    pub async fn set_page(
        &self,
        activity: ActivityId,
        page: &Page<Liker>,
    ) -> Result<Option<SetPage>> {
        let set = self.keys.set(activity);
        let mut pipe = redis::pipe();
        pipe.exists(&set).zscore(&set, SENTINEL);
        range(&mut pipe, &set, page);
        let mut answers = self.atomic(pipe).await?;
        let exists: bool = next(&mut answers)?;
        let lowest: Option<f64> = next(&mut answers)?;
        let likers = slice(page, &mut answers)?;
        Ok(exists.then(|| SetPage {
            version: lowest.map(|score| micros(-score)),
            likers,
        }))
    }

    /// Drops a set. Safe at any time: events that wait are laid over SQL's rows until the worker has
    /// persisted them and the set can be rebuilt.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn drop_set(&self, activity: ActivityId) -> Result<()> {
        let mut connection = self.pool.connection().await?;
        let _: u64 = redis::cmd("UNLINK")
            .arg(self.keys.set(activity))
            .query_async(&mut connection)
            .await?;
        Ok(())
    }
}
