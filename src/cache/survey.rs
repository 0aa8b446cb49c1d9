//! What reconciling looks at.

use super::keys::SENTINEL;
use super::look::next;
use super::{Cache, Result, micros};
use crate::domain::{ActivityId, Partition, Timestamp};

/// The version of a set as found; None if it has no sentinel.
pub type SetVersion = Option<Timestamp>;

/// A set as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetEnds {
    /// Its version; 0 if it was never changed.
    pub version: SetVersion,
    /// Its members without the sentinel.
    pub members: i64,
    /// Whether events of it wait.
    pub pending: bool,
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

    /// Version, size and pending events of one set, as of one moment; None if it is missing.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn set_ends(&self, activity: ActivityId) -> Result<Option<SetEnds>> {
        let set = self.keys.set(activity);
        let mut pipe = redis::pipe();
        pipe.zcard(&set).zscore(&set, SENTINEL).hexists(
            self.keys.pending(self.keys.partition(activity)),
            activity.get(),
        );
        let mut answers = self.atomic(pipe).await?;
        let size: i64 = next(&mut answers)?;
        let lowest: Option<f64> = next(&mut answers)?;
        let pending = next(&mut answers)?;
        Ok((size > 0).then(|| SetEnds {
            version: lowest.map(|score| micros(-score)),
            members: size - i64::from(lowest.is_some()),
            pending,
        }))
    }

    /// Drops a set that differs from SQL, if it is still as it was looked at and nothing of it is pending.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn drop_set(&self, activity: ActivityId, version: SetVersion) -> Result<bool> {
        let mut connection = self.pool.connection().await?;
        let dropped = self
            .scripts
            .drop
            .key(self.keys.set(activity))
            .key(self.keys.pending(self.keys.partition(activity)))
            .arg(activity.get())
            .arg(SENTINEL)
            .arg(
                version
                    .map(|version| version.0.to_string())
                    .unwrap_or_default(),
            )
            .invoke_async(&mut connection)
            .await?;
        Ok(dropped)
    }
}
