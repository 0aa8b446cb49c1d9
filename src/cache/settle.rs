//! What the worker does to Redis beside reading events.

use std::time::Duration;

use super::{Cache, Error, Result};
use crate::domain::{ActivityId, EventId, Partition};

/// Sets in one settling script, so that none keeps Redis busy for a millisecond.
const SETTLED_AT_ONCE: usize = 200;

/// Keys in one UNLINK.
const DROPPED_AT_ONCE: usize = 500;

impl Cache {
    /// Clears the activities whose newest event is still the given, persisted one, and lets their sets expire.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn settle(
        &self,
        partition: Partition,
        newest: &[(ActivityId, EventId)],
    ) -> Result<()> {
        for part in newest.chunks(SETTLED_AT_ONCE) {
            let mut call = self.scripts.settle.prepare_invoke();
            call.key(self.keys.pending(partition));
            for (activity, id) in part {
                call.key(self.keys.set(*activity))
                    .arg(activity.get())
                    .arg(id.to_string())
                    .arg(self.expiry_millis());
            }
            let mut connection = self.pool.connection().await?;
            let _: u64 = call.invoke_async(&mut connection).await?;
        }
        Ok(())
    }

    /// Drops all sets and leases of a partition, leases first.
    ///
    /// # Errors
    /// Redis is away; some may be dropped.
    pub async fn drop_partition(&self, partition: Partition) -> Result<()> {
        for pattern in self.keys.doubted(partition) {
            let keys = self.keys_like(&pattern).await?;
            for part in keys.chunks(DROPPED_AT_ONCE) {
                let mut connection = self.pool.connection().await?;
                let _: u64 = redis::cmd("UNLINK")
                    .arg(part)
                    .query_async(&mut connection)
                    .await?;
            }
        }
        Ok(())
    }

    /// Takes or prolongs the lease on a partition for a worker. None if another has it, else whether it is newly taken.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn claim(
        &self,
        partition: Partition,
        token: &str,
        hold: Duration,
    ) -> Result<Option<bool>> {
        let mut connection = self.pool.connection().await?;
        let answer: u8 = self
            .scripts
            .claim
            .key(self.keys.worker(partition))
            .arg(token)
            .arg(u64::try_from(hold.as_millis()).unwrap_or(u64::MAX))
            .invoke_async(&mut connection)
            .await?;
        match answer {
            0 => Ok(None),
            1 => Ok(Some(false)),
            2 => Ok(Some(true)),
            other => Err(Error::Unexpected(format!("answer {other} of claim"))),
        }
    }

    /// Gives a worker's lease back, so that another need not wait for its end.
    ///
    /// # Errors
    /// Redis is away; the lease ends by itself soon.
    pub async fn unclaim(&self, partition: Partition, token: &str) -> Result<()> {
        let mut connection = self.pool.connection().await?;
        let _: u8 = self
            .scripts
            .release
            .key(self.keys.worker(partition))
            .arg(token)
            .invoke_async(&mut connection)
            .await?;
        Ok(())
    }
}
