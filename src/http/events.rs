//! Server-sent events: GraphQL by the protocol `graphql-sse`, one operation a connection.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::SystemTime;

use async_graphql::Response as Executed;
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderName, HeaderValue};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream::{self, BoxStream, StreamExt};
use metrics::counter;

use super::Service;
use super::auth::Bearer;
use super::error::Failure;
use super::graphql::{self, Prepared, Rendered};
use super::observe::Note;
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
    let alive = KeepAlive::new().interval(service.live.settings.socket_ping);
    let mut response = respond(Sse::new(events).keep_alive(alive).into_response());
    let note = Note {
        operation,
        code: None,
    };
    response.extensions_mut().insert(note);
    response
}

/// A refusal. By the protocol it comes as an event: a browser shows no other answer to the page that asked.
pub(super) fn of_failure(failure: Failure) -> Response {
    let refused = Executed::from_errors(vec![failure.into_error()]);
    let events = events(stream::iter([refused]).boxed());
    respond(Sse::new(events).into_response())
}

fn events(results: BoxStream<'static, Executed>) -> BoxStream<'static, Result<Event, Infallible>> {
    let sent = counter!(telemetry::LIVE_MESSAGES, "transport" => "sse");
    let next = results.map(move |mut executed| {
        sent.increment(1);
        let rendered = Rendered::of(&mut executed);
        // Texts and numbers only: there is nothing in it that JSON could not hold.
        let text = serde_json::to_string(&rendered).unwrap_or_default();
        Ok(Event::default().event("next").data(text))
    });
    let complete = Event::default().event("complete").data("");
    next.chain(stream::iter([Ok(complete)])).boxed()
}

fn respond(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(BUFFERING, HeaderValue::from_static("no"));
    response
}
