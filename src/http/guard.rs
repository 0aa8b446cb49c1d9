//! What must not take others down: a panic, a request without end, and too many at once.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use tokio::sync::Semaphore;

use super::error::Failure;

/// Answers for a request that panicked. The panic itself is logged where it happens.
pub(super) fn panicked(_panic: Box<dyn Any + Send>) -> Response {
    Failure::internal().into_response()
}

/// Answers for a request that takes too long, and drops it.
pub(super) async fn limit_time(
    State(limit): State<Duration>,
    request: Request,
    next: Next,
) -> Response {
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Failure::timed_out().into_response(),
    }
}

/// Answers at once where there are more requests than can be worked on: who waits in a queue takes room too.
pub(super) async fn limit_concurrency(
    State(room): State<Arc<Semaphore>>,
    request: Request,
    next: Next,
) -> Response {
    match room.try_acquire() {
        Ok(_permit) => next.run(request).await,
        Err(_) => Failure::busy().into_response(),
    }
}
