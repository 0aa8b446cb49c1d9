//! Work that keeps a processor busy for milliseconds: apart from all other work, and only so much of it at once.
//!
//! Reading and validating a large document awaits nothing, so that requests behind it on the same thread wait for
//! all of it. A hundred clients that send such documents must not be felt by those who scroll a feed.

use std::future::{Future, poll_fn};
use std::num::NonZeroUsize;
use std::pin::pin;
use std::task::Poll;
use std::thread::available_parallelism;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;
use tokio::task::block_in_place;

/// Requests of front ends are smaller, or cost a moment more.
const LARGE: usize = 2048;

/// Where large requests wait for each other.
pub struct Lane(Semaphore);

impl Default for Lane {
    /// Room for half the processors.
    fn default() -> Self {
        let processors = available_parallelism().map_or(1, NonZeroUsize::get);
        Self(Semaphore::new(processors.div_ceil(2)))
    }
}

impl Lane {
    /// Does something that takes as long as so many bytes are.
    pub async fn run<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        self.begin(bytes, async move { work() }).await
    }

    /// Awaits a future that takes as long as so many bytes are before it awaits anything itself.
    pub async fn begin<F: Future>(&self, bytes: usize, future: F) -> F::Output {
        let mut future = pin!(future);
        if bytes >= LARGE {
            // Never closed; if it were, work would go on without it.
            let turn = self.0.acquire().await;
            let first = poll_fn(|context| Poll::Ready(apart(|| future.as_mut().poll(context))));
            if let Poll::Ready(output) = first.await {
                return output;
            }
            drop(turn);
        }
        future.await
    }
}

/// Gives what else waits for this thread to another one.
fn apart<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|it| it.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::sleep;
    use std::time::Duration;

    use futures::future::join_all;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn large_work_is_done_one_by_one_and_small_work_at_once() {
        let lane = Arc::new(Lane(Semaphore::new(1)));
        let (at_once, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (at_once, most) = (Arc::new(at_once), Arc::new(most));
        let works = (0..8).map(|number| {
            let (lane, at_once, most) =
                (Arc::clone(&lane), Arc::clone(&at_once), Arc::clone(&most));
            let work = move || {
                most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                sleep(Duration::from_millis(5));
                at_once.fetch_sub(1, Ordering::SeqCst);
                number
            };
            tokio::spawn(async move {
                match number % 2 {
                    0 => lane.run(LARGE, work).await,
                    _ => lane.begin(LARGE, async move { work() }).await,
                }
            })
        });
        let done = join_all(works).await.into_iter();
        assert!(done.map(Result::unwrap).eq(0..8));
        assert_eq!(most.load(Ordering::SeqCst), 1);
        let turn = lane.0.acquire().await.unwrap();
        assert_eq!(lane.run(LARGE - 1, || 1).await, 1);
        assert_eq!(lane.begin(0, async { 2 }).await, 2);
        drop(turn);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_turn_ends_where_waiting_begins() {
        let lane = Lane(Semaphore::new(1));
        let forever = lane.begin(LARGE, std::future::pending::<()>());
        let both = async { tokio::join!(biased; forever, lane.run(LARGE, || ())) };
        let other = async { lane.run(LARGE, || ()).await };
        tokio::select! {
            biased;
            _ = both => unreachable!("it never ends"),
            () = other => {}
        }
    }

    #[tokio::test]
    async fn with_one_thread_it_is_done_right_here() {
        let lane = Lane::default();
        assert_eq!(lane.run(LARGE, || 1).await, 1);
        assert_eq!(lane.begin(LARGE, async { 2 }).await, 2);
    }
}
