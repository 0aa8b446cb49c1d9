//! What the crates do that one would not expect. Each test shows the trap on the naive use, and that
//! the service does not fall into it.

mod dataloader;
mod postgres;
mod redis;
mod sqlite;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

/// About as long as an answer of a server on the same machine takes, so that every stage of a future is met.
const MOMENT: Duration = Duration::from_micros(300);

/// Polls a future a number of times, a moment apart, and drops it where it stands. Whether it had finished.
async fn dropped_after<T>(polls: usize, future: impl Future<Output = T>) -> bool {
    let mut future = pin!(future);
    for _ in 0..polls {
        let mut context = Context::from_waker(Waker::noop());
        if future.as_mut().poll(&mut context).is_ready() {
            return true;
        }
        tokio::time::sleep(MOMENT).await;
    }
    false
}
