//! Changing a like.

use std::time::Duration;

use metrics::counter;
use tokio::time::{Instant, sleep};

use super::rebuild::{Failure, Rebuilt};
use super::{Error, Likes, Outcome, Result};
use crate::cache::Changed;
use crate::domain::{Change, ChangeAnswer};
use crate::fault::point;
use crate::telemetry;

/// How long a change waits for a set that is missing: a million likers take some seconds to rebuild,
/// and a worker that is there persists what is pending in less.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause between two looks at a set that another is rebuilding or whose events wait.
const PAUSE: Duration = Duration::from_millis(20);

impl Likes {
    /// Likes, unlikes or toggles, and answers the state right after.
    ///
    /// # Errors
    /// `NotFound` for an unknown activity, `Conflict` for a reused idempotency key, `Unavailable` with the outcome.
    pub async fn change(&self, change: &Change) -> Result<ChangeAnswer> {
        let answer = self.carry_out(change).await;
        let result = match &answer {
            Ok((_, true)) => "replayed",
            Ok((answer, false)) if answer.changed => "changed",
            Ok(_) => "unchanged",
            Err(Error::Conflict) => "conflict",
            Err(Error::NotFound) => "not_found",
            Err(Error::Unavailable { .. }) => "unavailable",
            Err(Error::Forbidden | Error::Internal(_)) => "failed",
        };
        let operation = change.operation.name();
        counter!(telemetry::CHANGES, "operation" => operation, "result" => result).increment(1);
        answer.map(|(answer, _)| answer)
    }

    async fn carry_out(&self, change: &Change) -> Result<(ChangeAnswer, bool)> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            point("change.asked");
            // Nothing that correctness needs comes after this line: the client may be gone by then.
            let changed = self.cache.change(change).await;
            point("change.answered");
            match changed? {
                Changed::Done { answer, replayed } => return Ok((answer, replayed)),
                Changed::Conflict => return Err(Error::Conflict),
                Changed::Full => return Err(Error::unavailable("too many events wait for SQL")),
                Changed::Missing => self.await_set(change, deadline).await?,
            }
        }
    }

    /// Returns when the change is worth another try.
    async fn await_set(&self, change: &Change, deadline: Instant) -> Result<()> {
        let activity = change.activity;
        if self.absent.contains_key(&activity) {
            return Err(Error::NotFound);
        }
        let rebuilt = self.rebuilds.finish(activity).await;
        point("change.rebuilt");
        match rebuilt {
            Rebuilt::Ready => Ok(()),
            Rebuilt::Gone => {
                self.absent.insert(activity, ()).await;
                point("change.absent");
                Err(Error::NotFound)
            }
            Rebuilt::Failed(failure) => Err(Error::Unavailable {
                outcome: Outcome::NotApplied,
                reason: match *failure {
                    Failure::Cache(_) => "Redis failed while a set was rebuilt",
                    Failure::Store(_) => "SQL failed while a set was rebuilt",
                },
                source: Some(Box::new(failure)),
            }),
            Rebuilt::Later if Instant::now() + PAUSE >= deadline => {
                Err(Error::unavailable("the set is not there in time"))
            }
            Rebuilt::Later => {
                sleep(PAUSE).await;
                point("change.paused");
                Ok(())
            }
        }
    }
}
