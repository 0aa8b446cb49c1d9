//! Likes as they change, for those who watch.
//!
//! What travels is never a change but the news that there was one: each watcher then reads the state as it
//! is, together with all others who want to read at that moment. However many likes an activity gets and
//! however slowly a watcher takes what it is given, one mark for each activity is all that waits.

mod hub;
mod reads;
mod rows;
mod ticks;
mod watch;

use std::convert::Infallible;
use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use metrics::counter;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use self::hub::Hub;
use self::reads::Reads;
pub use self::rows::Rows;
use super::{Error, Likes, Result};
use crate::cache::News;
use crate::domain::{ActivityId, Look, UserId};
use crate::telemetry;
pub use watch::{Fresh, Watch};

/// The pause before a link that broke is made anew, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Who watches what, and how they read. One for a process.
#[derive(Clone)]
pub struct Live {
    hub: Arc<Hub>,
    reads: Reads,
    rows: Arc<Rows>,
}

impl Live {
    pub fn new() -> Self {
        Self {
            hub: Arc::default(),
            reads: Reads::new(),
            rows: Arc::default(),
        }
    }
}

impl Likes {
    /// Watches activities for one viewer: first each as it is, then whenever it may have changed.
    ///
    /// # Errors
    /// `Unavailable` when this process has as many watchers as it can bear.
    pub fn watch(
        &self,
        activities: &[ActivityId],
        viewer: Option<UserId>,
        look: Look,
    ) -> Result<Watch> {
        let seat = self.live.hub.enter(activities);
        let seat = seat.ok_or_else(|| Error::unavailable("too many activities are watched"))?;
        Ok(Watch::new(seat, self.live.reads.clone(), viewer, look))
    }

    /// The same, with the rows of users and activities remembered for moments: what many watchers of one
    /// activity show around its likes is then read once, not once for each.
    pub fn remembering(&self) -> Self {
        Self {
            rows: Some(Arc::clone(&self.live.rows)),
            ..self.clone()
        }
    }

    /// Lets watchers know and read, until the end begins.
    pub async fn run_live(&self, stop: CancellationToken) {
        let hub = &self.live.hub;
        tokio::select! {
            () = stop.cancelled() => {}
            _ = self.listen() => {}
            () = hub.run() => {}
            () = self.live.reads.serve(self) => {}
        }
        // Nobody is left waiting for what will never come.
        hub.close();
    }

    /// Keeps one link to what Redis tells of changes, for all watchers of this process.
    async fn listen(&self) -> Infallible {
        let mut pause = FIRST_PAUSE;
        loop {
            let begun = Instant::now();
            let hub = Arc::clone(&self.live.hub);
            let hear = move |news| match news {
                News::Linked => hub.linked(),
                News::Changed(activity) => hub.changed(activity),
            };
            let broken = self.cache.listen(hear).await;
            self.live.hub.unlinked();
            counter!(telemetry::LIVE_RELINKS).increment(1);
            if let Err(error) = broken {
                tracing::warn!(
                    error = &error as &dyn StdError,
                    "the link that tells of changes broke: subscriptions pause until it is back"
                );
            }
            if begun.elapsed() > LONGEST_PAUSE {
                pause = FIRST_PAUSE;
            }
            // Up to half of it is chance, so that the nodes do not all come back in the same moment.
            sleep(pause.mul_f64(rand::random_range(0.5..=1.0))).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
