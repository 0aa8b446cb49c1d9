//! The worker: carries events from Redis to SQL, delivered at least once and applied once.

mod error;
pub mod plan;
mod step;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use metrics::{counter, gauge};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::cache::{Cache, Error as CacheError, Waiting};
use crate::domain::{Partition, Timestamp};
use crate::fault::point;
use crate::store::Store;
use crate::telemetry;
pub use error::Error;
pub use step::{Place, Step};

/// The pause after a round in which no batch was full. Events gather meanwhile and share a transaction.
const PAUSE: Duration = Duration::from_millis(50);
/// How often an idle partition is looked at, in case Redis came back older than SQL.
const CHECK: Duration = Duration::from_secs(1);
/// How long a partition stays with a worker that gives no sign of life.
const HOLD: Duration = Duration::from_secs(3);
/// Pauses after failures: doubled each time, up to the second.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// Partitions worked on at once; each needs a connection to SQL.
const AT_ONCE: usize = 4;

/// How to work.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The most entries in one batch, and so in one transaction.
    pub batch: usize,
}

/// Persists events. Any number of them may run, in any number of processes.
pub struct Worker {
    store: Arc<dyn Store>,
    cache: Arc<Cache>,
    options: Options,
}

/// A partition and when to turn to it.
struct Duty {
    place: Place,
    /// Not before this moment: a pause after a failure, or the next look at an idle partition.
    next_check: Instant,
    retry_at: Instant,
    backoff: Duration,
}

impl Worker {
    /// A worker on all partitions of the cache.
    pub fn new(store: Arc<dyn Store>, cache: Arc<Cache>, options: Options) -> Self {
        Self {
            store,
            cache,
            options,
        }
    }

    /// Works until told to stop; then finishes the batches under way and lets go of its partitions.
    pub async fn run(&self, stop: CancellationToken) {
        let token = format!("{:016x}", rand::random::<u64>());
        let now = Instant::now();
        let partitions: Vec<_> = self.cache.partitions().all().collect();
        let mut duties: Vec<_> = partitions
            .iter()
            .map(|&partition| Duty::new(partition, now))
            .collect();
        let mut backoff = BACKOFF.0;
        while !stop.is_cancelled() {
            let pause = match self.cache.waiting(&partitions).await {
                Ok(waiting) => {
                    point("worker.waiting");
                    backoff = BACKOFF.0;
                    report(&waiting);
                    let full = self.round(&token, &mut duties, &waiting).await;
                    if full { Duration::ZERO } else { PAUSE }
                }
                Err(error) => {
                    failed(&error.into(), None);
                    doubled(&mut backoff)
                }
            };
            tokio::select! {
                () = sleep(pause) => {}
                () = stop.cancelled() => {}
            }
        }
        for partition in partitions {
            point("worker.unclaimed");
            if let Err(error) = self.cache.unclaim(partition, &token).await {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "a worker's lease ends by itself"
                );
                break;
            }
        }
    }

    /// One step of each partition that needs one. Whether a batch was full, so that more waits.
    async fn round(&self, token: &str, duties: &mut [Duty], waiting: &[Waiting]) -> bool {
        let now = Instant::now();
        let mut turns = Vec::new();
        for (duty, waiting) in duties.iter_mut().zip(waiting) {
            if duty.retry_at <= now && (waiting.entries > 0 || duty.next_check <= now) {
                turns.push(self.turn(token, duty, now));
            }
        }
        let turns = futures::stream::iter(turns).buffer_unordered(AT_ONCE);
        let full: Vec<bool> = turns.collect().await;
        full.contains(&true)
    }

    async fn turn(&self, token: &str, duty: &mut Duty, now: Instant) -> bool {
        duty.next_check = now + CHECK;
        match self.claimed_step(token, &mut duty.place).await {
            Ok(step) => {
                duty.backoff = BACKOFF.0;
                matches!(step, Some(Step::Persisted(entries)) if entries >= self.options.batch)
            }
            Err(error) => {
                failed(&error, Some(duty.place.partition()));
                duty.retry_at = Instant::now() + doubled(&mut duty.backoff);
                false
            }
        }
    }

    /// A step, if no other worker is at the partition.
    async fn claimed_step(&self, token: &str, place: &mut Place) -> Result<Option<Step>, Error> {
        let claimed = match self.cache.claim(place.partition(), token, HOLD).await {
            // A Redis whose memory is full takes no lease, and has to be emptied all the more.
            Err(CacheError::Refused(_)) => Some(true),
            claimed => claimed?,
        };
        match claimed {
            None => return Ok(None),
            Some(newly_taken) => {
                point("worker.claimed");
                if newly_taken {
                    place.doubt();
                }
            }
        }
        self.step(place).await.map(Some)
    }
}

impl Duty {
    fn new(partition: Partition, now: Instant) -> Self {
        Self {
            place: Place::new(partition),
            next_check: now,
            retry_at: now,
            backoff: BACKOFF.0,
        }
    }
}

/// The pause to make now, with up to a quarter of jitter so that workers do not return together; the next is twice as long.
fn doubled(backoff: &mut Duration) -> Duration {
    let pause = backoff.mul_f64(rand::random_range(0.75..=1.0));
    *backoff = (*backoff * 2).min(BACKOFF.1);
    pause
}

fn failed(error: &Error, partition: Option<Partition>) {
    counter!(telemetry::WORKER_FAILURES).increment(1);
    tracing::error!(
        error = error as &dyn std::error::Error,
        partition = partition.map(|partition| partition.0),
        "a batch failed and is tried again"
    );
}

#[expect(clippy::cast_precision_loss, reason = "gauges are doubles")]
fn report(waiting: &[Waiting]) {
    let entries: u64 = waiting.iter().map(|waiting| waiting.entries).sum();
    gauge!(telemetry::BACKLOG).set(entries as f64);
    let oldest = waiting.iter().filter_map(|waiting| waiting.oldest).min();
    let now = u64::try_from(Timestamp::now().0 / 1000).unwrap_or_default();
    let age = oldest.map_or(0, |id| now.saturating_sub(id.millis));
    gauge!(telemetry::OLDEST_EVENT_SECONDS).set(age as f64 / 1000.0);
}
