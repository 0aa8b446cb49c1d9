//! Questions to SQL that many requests ask at once: whoever comes while answers are under way shares the next one.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use metrics::counter;
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

use super::{Error, Result};
use crate::store;
use crate::telemetry;

/// Batches of one kind under way at once. A second one, so that one that takes long holds up only its own.
const AT_ONCE: usize = 2;
/// Keys after which a batch takes no more requests; those behind come in the next.
const LARGE: usize = 5_000;

/// Answers questions about keys in batches. Only what is asked alike can share one: `A` says how.
///
/// A batch begins after everything in it was asked, so nobody gets an answer older than the question.
pub struct Gather<A, K, V>(Arc<Inner<A, K, V>>);

type Found<K, V> = HashMap<K, V>;
type Read<A, K, V> =
    Box<dyn Fn(A, Vec<K>) -> BoxFuture<'static, store::Result<Found<K, V>>> + Send + Sync>;
type Answer<K, V> = std::result::Result<Arc<Found<K, V>>, Arc<store::Error>>;

struct Inner<A, K, V> {
    /// For metrics.
    name: &'static str,
    read: Read<A, K, V>,
    lanes: Mutex<HashMap<A, Lane<K, V>>>,
    tasks: TaskTracker,
}

/// Everything that is asked alike.
struct Lane<K, V> {
    running: usize,
    waiting: Vec<Ask<K, V>>,
}

struct Ask<K, V> {
    keys: Vec<K>,
    answer: oneshot::Sender<Answer<K, V>>,
}

impl<K, V> Ask<K, V> {
    fn tell(self, answer: Answer<K, V>) {
        // Who has gone meanwhile needs no answer.
        drop(self.answer.send(answer));
    }
}

fn is_about_a_row(error: &store::Error) -> bool {
    matches!(error, store::Error::Corrupt { .. })
}

impl<A, K, V> Clone for Gather<A, K, V> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<A, K, V> Gather<A, K, V>
where
    A: Copy + Eq + Hash + Send + 'static,
    K: Copy + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// Reads with this function, in tasks of their own: who asked first may go away, and the others still wait.
    pub fn new<F>(
        name: &'static str,
        tasks: TaskTracker,
        read: impl Fn(A, Vec<K>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = store::Result<Found<K, V>>> + Send + 'static,
    {
        Self(Arc::new(Inner {
            name,
            read: Box::new(move |alike, keys| Box::pin(read(alike, keys))),
            lanes: Mutex::default(),
            tasks,
        }))
    }

    /// What there is for each key; keys that nothing was found for are left out.
    ///
    /// # Errors
    /// What reading says.
    pub async fn get(&self, alike: A, keys: &[K]) -> Result<Found<K, V>> {
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let (answer, answered) = oneshot::channel();
        self.ask(
            alike,
            Ask {
                keys: keys.to_vec(),
                answer,
            },
        );
        let found = answered
            .await
            .map_err(|dropped| Error::Internal(dropped.into()))??;
        let value = |key: &K| Some((*key, found.get(key)?.clone()));
        Ok(keys.iter().filter_map(value).collect())
    }

    fn ask(&self, alike: A, ask: Ask<K, V>) {
        let mut lanes = self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = lanes.entry(alike).or_insert_with(|| Lane {
            running: 0,
            waiting: Vec::new(),
        });
        lane.waiting.push(ask);
        if lane.running < AT_ONCE {
            lane.running += 1;
            let this = self.clone();
            self.0.tasks.spawn(async move { this.answer(alike).await });
        }
    }

    /// Answers everybody in a lane, until nobody waits.
    async fn answer(&self, alike: A) {
        while let Some(asks) = self.next(alike) {
            counter!(telemetry::SQL_BATCHED, "of" => self.0.name).increment(asks.len() as u64);
            match self.read(alike, &asks).await {
                // A row is to blame, which is not the fault of those who did not ask for it.
                Some(Err(error)) if is_about_a_row(&error) => {
                    for ask in asks {
                        if let Some(answer) = self.read(alike, std::slice::from_ref(&ask)).await {
                            ask.tell(answer);
                        }
                    }
                }
                Some(answer) => asks.into_iter().for_each(|ask| ask.tell(answer.clone())),
                None => {}
            }
        }
    }

    /// Reads for some in one go; None where that panics, which is logged there and strikes only these.
    async fn read(&self, alike: A, asks: &[Ask<K, V>]) -> Option<Answer<K, V>> {
        let keys = asks.iter().flat_map(|ask| ask.keys.iter().copied());
        let keys: HashSet<K> = keys.collect();
        counter!(telemetry::SQL_BATCHES, "of" => self.0.name).increment(1);
        let read = (self.0.read)(alike, keys.into_iter().collect());
        let found = AssertUnwindSafe(read).catch_unwind().await.ok()?;
        Some(found.map(Arc::new).map_err(Arc::new))
    }

    /// Those who share the next batch; None, and the lane is left, if nobody waits.
    fn next(&self, alike: A) -> Option<Vec<Ask<K, V>>> {
        let mut lanes = self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = lanes.get_mut(&alike)?;
        if lane.waiting.is_empty() {
            lane.running -= 1;
            if lane.running == 0 {
                lanes.remove(&alike);
            }
            return None;
        }
        let mut keys = 0;
        let fits = lane.waiting.iter().take_while(|ask| {
            let begun = keys < LARGE;
            keys += ask.keys.len();
            begun
        });
        let fits = fits.count();
        Some(lane.waiting.drain(..fits).collect())
    }
}

#[cfg(test)]
mod tests;
