//! One log line and one count for every request.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

use crate::telemetry::{HTTP_REQUESTS, HTTP_SECONDS};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Room for a UUID or a trace id, and no room to flood the log.
const LONGEST_ID: usize = 64;
/// Paths in the log are cut here; ours are shorter.
const LONGEST_PATH: usize = 100;
/// What nginx calls a request whose client hung up before the answer.
const CLIENT_CLOSED: u16 = 499;

/// What a handler knows and the log line should say. Travels in the response's extensions.
#[derive(Debug, Clone, Default)]
pub(super) struct Note {
    /// The operation's name, as the client gave it.
    pub(super) operation: Option<String>,
    /// The code of the first error.
    pub(super) code: Option<String>,
}

/// Gives the request its id, and writes the line when the answer is there or the client has gone.
pub(super) async fn observe(request: Request, next: Next) -> Response {
    let id = incoming_id(&request).unwrap_or_else(new_id);
    let mut line = Line::begin(&request, &id);
    let span = tracing::info_span!("request", id);

    let mut response = next.run(request).instrument(span).await;

    line.status = response.status().as_u16();
    line.note = response.extensions_mut().remove::<Note>();
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// An id from a proxy in front, if it is one that can be searched for.
fn incoming_id(request: &Request) -> Option<String> {
    let id = request.headers().get(REQUEST_ID)?.to_str().ok()?;
    let searchable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let sane = (1..=LONGEST_ID).contains(&id.len()) && id.chars().all(searchable);
    sane.then(|| id.to_owned())
}

fn new_id() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// The line to be written, when this is dropped: a client that hangs up drops it early.
struct Line {
    start: Instant,
    id: String,
    method: Method,
    path: String,
    route: String,
    status: u16,
    note: Option<Note>,
}

impl Line {
    fn begin(request: &Request, id: &str) -> Self {
        let route = request.extensions().get::<MatchedPath>();
        Self {
            start: Instant::now(),
            id: id.to_owned(),
            method: request.method().clone(),
            path: request.uri().path().chars().take(LONGEST_PATH).collect(),
            route: route.map_or("other", MatchedPath::as_str).to_owned(),
            status: CLIENT_CLOSED,
            note: None,
        }
    }

    /// Of what comes every few seconds or along with a page, a line would only be noise.
    fn is_noise(&self) -> bool {
        let is_health = matches!(self.route.as_str(), "/livez" | "/readyz");
        let is_asset = self.route.starts_with("/assets/");
        (is_health || is_asset) && self.status < StatusCode::INTERNAL_SERVER_ERROR.as_u16()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let took = self.start.elapsed();
        let path = self.route.clone();
        metrics::counter!(HTTP_REQUESTS, "path" => path.clone(), "status" => self.status.to_string())
            .increment(1);
        metrics::histogram!(HTTP_SECONDS, "path" => path).record(took);

        let note = self.note.take().unwrap_or_default();
        let ms = (took.as_secs_f64() * 1e6).round() / 1e3;
        if self.is_noise() {
            tracing::debug!(
                http.method = %self.method, http.path = self.path, http.status = self.status,
                ms, request.id = self.id, "request answered"
            );
        } else {
            tracing::info!(
                http.method = %self.method, http.path = self.path, http.status = self.status,
                ms, request.id = self.id,
                graphql.operation = note.operation, graphql.code = note.code, "request answered"
            );
        }
    }
}
