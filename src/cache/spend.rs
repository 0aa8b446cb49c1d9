//! The script that counts what callers do, for all nodes together.

use std::num::NonZeroU32;
use std::time::Duration;

use super::{Cache, Result};

/// What a caller may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// How much of it fills up in a second.
    pub rate: NonZeroU32,
    /// How much of it there is when it is full.
    pub burst: NonZeroU32,
}

impl Cache {
    /// Takes from a caller's two allowances, reads and changes; how long to wait where one of them is not enough,
    /// and then nothing was taken.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn spend(
        &self,
        caller: &str,
        [reads, changes]: [(Allowance, usize); 2],
    ) -> Result<Option<Duration>> {
        let mut call = self.scripts.spend.prepare_invoke();
        for (name, (allowance, count)) in [("reads", reads), ("changes", changes)] {
            call.key(self.keys.allowance(caller, name))
                .arg(count)
                .arg(allowance.rate.get())
                .arg(allowance.burst.get());
        }
        let mut connection = self.pool.connection().await?;
        let millis: u64 = call.invoke_async(&mut connection).await?;
        Ok((millis > 0).then(|| Duration::from_millis(millis)))
    }
}
