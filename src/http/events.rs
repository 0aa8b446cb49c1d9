//! Server-sent events: GraphQL by the protocol `graphql-sse`, one operation a connection.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_graphql::Response as Executed;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use futures::stream::{self, BoxStream, StreamExt, unfold};
use metrics::counter;
use tokio::time::timeout;

use super::Service;
use super::auth::Bearer;
use super::graphql::{self, Rendered};
use super::observe::Note;
use crate::graphql::Prepared;
use crate::telemetry;

/// What nginx needs to be told, or it collects answers before it passes them on.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The results of a request. Where the process or the token comes to its end, so does the stream, without the event
/// that says all is complete: clients come back, to another process or with a fresh token.
pub(super) fn of_results(
    service: &Arc<Service>,
    bearer: Option<Bearer>,
    prepared: Prepared,
) -> Response {
    let remaining = bearer.as_ref().map(|it| it.remaining(SystemTime::now()));
    let identity = bearer.map(|bearer| bearer.identity);
    let operation = prepared.name.clone();
    let results = graphql::results(service, identity, prepared);
    let stop = service.live.stop.clone();
    let end = async move {
        match remaining {
            Some(remaining) => tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(remaining) => {}
            },
            None => stop.cancelled().await,
        }
    };
    let events = events(results).take_until(end).boxed();
    let mut response = respond(alive(events, service.live.settings.socket_ping));
    let note = Note {
        operation,
        code: None,
    };
    response.extensions_mut().insert(note);
    response
}

/// A refusal. By the protocol it comes as an event: a browser shows no other answer to the page that asked.
pub(super) fn of_refusal(refused: Executed) -> Response {
    respond(events(stream::iter([refused]).boxed()))
}

/// Results as events, and one that says that all is complete. That one has empty data: without any, browsers would
/// not pass it on.
fn events(results: BoxStream<'static, Executed>) -> BoxStream<'static, String> {
    let sent = counter!(telemetry::LIVE_MESSAGES, "transport" => "sse");
    let next = results.map(move |executed| {
        sent.increment(1);
        let rendered = Rendered::of(&executed);
        // JSON of texts and numbers, which never fails and has no line breaks.
        let json = serde_json::to_string(&rendered).unwrap_or_default();
        format!("event: next\ndata: {json}\n\n")
    });
    let complete = "event: complete\ndata: \n\n".to_owned();
    next.chain(stream::iter([complete])).boxed()
}

/// The same with a sign of life, a comment, where nothing happens for a while: proxies end silent answers, and only
/// sending shows that a client is gone.
fn alive(events: BoxStream<'static, String>, pause: Duration) -> BoxStream<'static, String> {
    let alive = unfold(events, move |mut events| async move {
        let event = timeout(pause, events.next()).await;
        let text = event.unwrap_or_else(|_| Some(":\n\n".to_owned()))?;
        Some((text, events))
    });
    alive.boxed()
}

fn respond(events: BoxStream<'static, String>) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (BUFFERING, HeaderValue::from_static("no")),
    ];
    let body = Body::from_stream(events.map(Ok::<_, Infallible>));
    (headers, body).into_response()
}
