//! Bodies that were refused before they had been read.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header::EXPECT;
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use tokio::time::timeout;

/// So much of a body is read off and thrown away, and for so long: closing while it still comes would make the client's
/// network forget the answer.
const MOST: usize = 4 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(2);

/// Lets a refusal reach clients that are still sending.
pub(super) async fn read_off(request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    // Who waits to be told to go on must not be told so after all. Most requests have no body, or an announced end.
    if body.is_end_stream() || head.headers.contains_key(EXPECT) {
        return next.run(Request::from_parts(head, body)).await;
    }
    let shared = Shared(Arc::new(Mutex::new(Some(body))));
    let rest = shared.clone();
    let request = Request::from_parts(head, Body::new(shared));
    let response = next.run(request).await;
    // Whoever sends more, or more slowly, may miss the answer.
    drop(timeout(PATIENCE, rest.drain()).await);
    response
}

/// A body of which somebody else may have the rest; None after its end.
#[derive(Clone)]
struct Shared(Arc<Mutex<Option<Body>>>);

impl Shared {
    fn body(&self) -> MutexGuard<'_, Option<Body>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn drain(mut self) {
        let mut left = MOST;
        while let Some(Ok(frame)) = self.frame().await {
            let read = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(read) {
                Some(less) => left = less,
                None => return,
            }
        }
    }
}

impl HttpBody for Shared {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut body = self.body();
        let Some(open) = &mut *body else {
            return Poll::Ready(None);
        };
        let frame = Pin::new(open).poll_frame(context);
        if matches!(frame, Poll::Ready(None | Some(Err(_)))) {
            *body = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body().as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let hint = self.body().as_ref().map(Body::size_hint);
        hint.unwrap_or_else(|| SizeHint::with_exact(0))
    }
}
