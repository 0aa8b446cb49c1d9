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
            let keys: HashSet<K> = asks
                .iter()
                .flat_map(|ask| ask.keys.iter().copied())
                .collect();
            counter!(telemetry::SQL_BATCHES, "of" => self.0.name).increment(1);
            counter!(telemetry::SQL_BATCHED, "of" => self.0.name).increment(asks.len() as u64);
            let read = (self.0.read)(alike, keys.into_iter().collect());
            // A panic is logged where it happens, and strikes only those whom this batch was for.
            let Ok(found) = AssertUnwindSafe(read).catch_unwind().await else {
                continue;
            };
            let answer = found.map(Arc::new).map_err(Arc::new);
            for ask in asks {
                // Who has gone meanwhile needs no answer.
                drop(ask.answer.send(answer.clone()));
            }
        }
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
mod tests {
    use futures::future::join_all;
    use tokio::sync::Semaphore;
    use tokio::task::JoinHandle;

    use super::*;

    /// Reads that wait until they are let go; a key is found with the number of the read. Read 0 of lane 13 panics.
    struct Reads {
        gather: Gather<u8, u32, usize>,
        begun: Arc<Mutex<Vec<Vec<u32>>>>,
        go: Arc<Semaphore>,
    }

    impl Reads {
        fn new() -> Self {
            let begun: Arc<Mutex<Vec<Vec<u32>>>> = Arc::default();
            let go = Arc::new(Semaphore::new(0));
            let (noted, gate) = (Arc::clone(&begun), Arc::clone(&go));
            let read = move |alike: u8, mut keys: Vec<u32>| {
                keys.sort_unstable();
                let number = {
                    let mut noted = noted.lock().unwrap();
                    noted.push(keys.clone());
                    noted.len() - 1
                };
                let gate = Arc::clone(&gate);
                async move {
                    gate.acquire().await.unwrap().forget();
                    assert!(alike != 13 || number > 0, "unlucky");
                    match alike {
                        7 => Err(store::Error::Unmigrated("on purpose".to_owned())),
                        _ => Ok(keys.into_iter().map(|key| (key, number)).collect()),
                    }
                }
            };
            Self {
                gather: Gather::new("tests", TaskTracker::new(), read),
                begun,
                go,
            }
        }

        /// Has been asked, and a read has begun if it may.
        async fn ask(&self, alike: u8, keys: &[u32]) -> JoinHandle<Result<Found<u32, usize>>> {
            let (gather, keys) = (self.gather.clone(), keys.to_vec());
            let asked = tokio::spawn(async move { gather.get(alike, &keys).await });
            self.settle().await;
            asked
        }

        async fn ask_each(
            &self,
            alike: u8,
            lists: &[&[u32]],
        ) -> Vec<JoinHandle<Result<Found<u32, usize>>>> {
            let mut asked = Vec::new();
            for keys in lists {
                asked.push(self.ask(alike, keys).await);
            }
            asked
        }

        /// Lets everybody do what they can.
        async fn settle(&self) -> Vec<Vec<u32>> {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            self.begun.lock().unwrap().clone()
        }
    }

    #[tokio::test]
    async fn whoever_comes_meanwhile_shares_the_next_read() {
        let reads = Reads::new();
        let mut asks = Vec::new();
        for key in 0..10 {
            asks.push(reads.ask(0, &[key, 100]).await);
        }
        let begun = reads.settle().await;
        assert_eq!(begun, [[0, 100], [1, 100]], "two at once");
        reads.go.add_permits(100);
        let answers = join_all(asks).await.into_iter();
        let answers: Vec<_> = answers.map(|answer| answer.unwrap().unwrap()).collect();
        let begun = reads.settle().await;
        assert_eq!(begun[2..], [[2, 3, 4, 5, 6, 7, 8, 9, 100]]);
        assert_eq!(answers[0], HashMap::from([(0, 0), (100, 0)]));
        assert_eq!(answers[9], HashMap::from([(9, 2), (100, 2)]));
        assert!(reads.gather.0.lanes.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn what_is_asked_differently_is_read_apart() {
        let reads = Reads::new();
        let asks = [
            reads.ask(1, &[1]).await,
            reads.ask(2, &[1]).await,
            reads.ask(3, &[1]).await,
        ];
        assert_eq!(reads.settle().await.len(), 3);
        reads.go.add_permits(3);
        assert!(
            join_all(asks)
                .await
                .into_iter()
                .all(|it| it.unwrap().is_ok())
        );
    }

    #[tokio::test]
    async fn who_goes_away_takes_nobody_along() {
        let reads = Reads::new();
        let mut asks = reads.ask_each(0, &[&[1], &[2], &[3]]).await;
        assert_eq!(reads.settle().await.len(), 2);
        asks[0].abort();
        asks[1].abort();
        reads.go.add_permits(3);
        let third = asks.remove(2).await.unwrap().unwrap();
        assert_eq!(third, HashMap::from([(3, 2)]));
    }

    #[tokio::test]
    async fn a_failure_strikes_all_who_share_it_and_no_later_one() {
        let reads = Reads::new();
        let asks = reads.ask_each(7, &[&[1], &[2], &[3], &[4]]).await;
        reads.go.add_permits(100);
        for answer in join_all(asks).await {
            assert!(matches!(answer.unwrap(), Err(Error::Internal(_))));
        }
        assert!(reads.gather.0.lanes.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_panic_strikes_only_those_it_was_for() {
        let reads = Reads::new();
        reads.go.add_permits(100);
        let answer = reads.ask(13, &[1]).await.await.unwrap();
        assert!(matches!(answer, Err(Error::Internal(_))));
        let answer = reads.ask(13, &[1]).await.await.unwrap().unwrap();
        assert_eq!(answer, HashMap::from([(1, 1)]));
    }

    #[tokio::test]
    async fn a_large_batch_takes_no_more() {
        let reads = Reads::new();
        let large: Vec<u32> = (0..5_000).collect();
        let asks = reads
            .ask_each(0, &[&[1], &[2], &large, &[6_000], &[7_000]])
            .await;
        reads.go.add_permits(100);
        assert!(
            join_all(asks)
                .await
                .into_iter()
                .all(|it| it.unwrap().is_ok())
        );
        let begun = reads.settle().await;
        let sizes: Vec<_> = begun.iter().map(Vec::len).collect();
        assert_eq!(sizes, [1, 1, 5_000, 2]);
    }
}
