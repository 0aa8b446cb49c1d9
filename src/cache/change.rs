//! The change script.

use redis::Value;

use super::keys::{SENTINEL, member};
use super::{Cache, Error, Result, decoded, state};
use crate::domain::{Change, ChangeAnswer};

/// What the change script did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// The set has to be rebuilt first.
    Missing,
    /// It was carried out now, or before under the same idempotency key.
    Done {
        /// The outcome and the state right after.
        answer: ChangeAnswer,
        /// Whether a known idempotency key was answered.
        replayed: bool,
    },
    /// The idempotency key was used for another operation.
    Conflict,
    /// Too many events wait for SQL.
    Full,
}

impl Cache {
    /// Toggles, likes or unlikes in one step.
    ///
    /// # Errors
    /// After `NoAnswer` it may have been carried out, after the others it was not.
    pub async fn change(&self, change: &Change) -> Result<Changed> {
        let partition = self.keys.partition(change.activity);
        let mut call = self.scripts.change.prepare_invoke();
        call.key(self.keys.set(change.activity))
            .key(self.keys.events(partition))
            .key(self.keys.pending(partition));
        if let Some(key) = &change.key {
            call.key(self.keys.once(change, key));
        }
        call.arg(change.operation.name())
            .arg(change.activity.get())
            .arg(change.user.get())
            .arg(member(change.user))
            .arg(SENTINEL)
            .arg(self.keys.changes(partition))
            .arg(self.options.max_backlog)
            .arg(change.look.top)
            .arg(u64::try_from(self.options.idempotency_ttl.as_millis()).unwrap_or(u64::MAX));
        let mut connection = self.pool.connection().await?;
        let changed = read(call.invoke_async(&mut connection).await?)?;
        // Also of an unchanged or replayed like: what it tells of may not be on the disk yet.
        if let (Changed::Done { .. }, Some(fsync)) = (&changed, &self.fsync) {
            fsync.wait().await?;
        }
        Ok(changed)
    }
}

fn read(answer: Value) -> Result<Changed> {
    let (outcome, liked, changed, count, rank, lowest): (
        u8,
        bool,
        bool,
        i64,
        i64,
        Vec<(String, f64)>,
    ) = decoded(answer)?;
    match outcome {
        0 => Ok(Changed::Missing),
        1 | 2 => {
            let rank = (rank > 0).then_some(rank);
            let state = state(&lowest, count + 1, rank.is_some(), rank)?;
            Ok(Changed::Done {
                answer: ChangeAnswer {
                    liked,
                    changed,
                    state,
                },
                replayed: outcome == 2,
            })
        }
        3 => Ok(Changed::Conflict),
        4 => Ok(Changed::Full),
        other => Err(Error::Unexpected(format!("outcome {other} of change"))),
    }
}
