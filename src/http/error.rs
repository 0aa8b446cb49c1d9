//! What is answered when a request does not get as far as GraphQL. The shape is GraphQL's all the same,
//! so that a client has one way to read errors.

use async_graphql::{ErrorExtensionValues, ServerError};
use axum::Json;
use axum::http::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::observe::Note;
use crate::graphql::{Code, Limit};
use crate::telemetry::REQUESTS_REFUSED;

/// The one text for every token that is not believed: which part was wrong helps only a forger.
const BAD_TOKEN: &str = "The bearer token is not valid. Sign in again, or send no Authorization \
                         header to stay anonymous.";

/// A request that is refused or has failed.
#[derive(Debug)]
pub(super) struct Failure {
    status: StatusCode,
    code: Code,
    outcome: Option<&'static str>,
    limit: Option<&'static str>,
    message: String,
    // Few have one, and each answer has room for a failure.
    header: Option<Box<(HeaderName, HeaderValue)>>,
}

impl Failure {
    fn new(status: StatusCode, code: Code, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            outcome: None,
            limit: None,
            message: message.into(),
            header: None,
        }
    }

    fn with_header(mut self, name: HeaderName, value: &'static str) -> Self {
        self.header = Some(Box::new((name, HeaderValue::from_static(value))));
        self
    }

    fn with_outcome(mut self, outcome: &'static str) -> Self {
        self.outcome = Some(outcome);
        self
    }

    /// A request that is refused within something that goes on.
    pub(super) fn refused(code: Code, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// Something is wrong with what was sent.
    pub(super) fn bad_input(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Code::BadUserInput, message)
    }

    pub(super) fn bad_token() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, Code::Unauthenticated, BAD_TOKEN)
            .with_header(WWW_AUTHENTICATE, r#"Bearer error="invalid_token""#)
    }

    /// Nobody can tell whether the token is good.
    pub(super) fn no_keys() -> Self {
        let message =
            "The identity provider cannot be reached to verify the token. Try again soon.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, message)
            .with_outcome("not_applied")
            .with_header(RETRY_AFTER, "5")
    }

    pub(super) fn busy() -> Self {
        let message =
            "Too many requests are being worked on, and nothing was done. Try again soon.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, message)
            .with_outcome("not_applied")
            .with_header(RETRY_AFTER, "1")
    }

    pub(super) fn timed_out() -> Self {
        let message = "The request took too long. A change may have happened: repeat it with the \
                       same idempotencyKey.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, message)
            .with_outcome("unknown")
    }

    pub(super) fn internal() -> Self {
        let message = "Something went wrong on our side. A change may have happened: repeat it with \
                       the same idempotencyKey.";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, Code::Internal, message)
    }

    pub(super) fn not_found() -> Self {
        let message = "There is nothing here. GraphQL is served at /graphql.";
        Self::new(StatusCode::NOT_FOUND, Code::NotFound, message)
    }

    pub(super) fn mutation_over_get() -> Self {
        let message = "GET answers queries only. Send mutations by POST.";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, Code::BadUserInput, message)
            .with_header(ALLOW, "POST")
    }

    pub(super) fn subscription() -> Self {
        Self::bad_input(
            "Subscriptions are answered with text/event-stream, which is to be accepted, or over a \
             WebSocket that speaks graphql-transport-ws.",
        )
    }

    /// A page of somewhere else.
    pub(super) fn foreign_origin() -> Self {
        let message = "Pages of this origin may not open WebSockets here.";
        Self::new(StatusCode::FORBIDDEN, Code::Forbidden, message)
    }

    pub(super) fn other_method() -> Self {
        let message = "Send queries by GET or POST, and mutations by POST.";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, Code::BadUserInput, message)
            .with_header(ALLOW, "GET, HEAD, POST")
    }

    pub(super) fn not_acceptable() -> Self {
        let message = "Answers are application/json or application/graphql-response+json.";
        Self::new(StatusCode::NOT_ACCEPTABLE, Code::BadUserInput, message)
    }

    pub(super) fn too_large(limit: usize) -> Self {
        let message = format!("The body is larger than {limit} bytes.");
        let mut failure = Self::new(StatusCode::PAYLOAD_TOO_LARGE, Code::BadUserInput, message);
        failure.limit = Some(Limit::Body.name());
        metrics::counter!(REQUESTS_REFUSED, "limit" => Limit::Body.name()).increment(1);
        failure
    }

    /// Content types that browsers send to other sites without asking first are among the refused.
    pub(super) fn unsupported_media_type() -> Self {
        let message = "Send the request as JSON, with the header Content-Type: application/json.";
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Code::BadUserInput,
            message,
        )
        .with_header(HeaderName::from_static("accept-post"), "application/json")
    }
}

impl Failure {
    /// As GraphQL's clients read it.
    pub(super) fn into_error(self) -> ServerError {
        let mut error = ServerError::new(self.message, None);
        let mut extensions = ErrorExtensionValues::default();
        extensions.set("code", self.code.name());
        if let Some(outcome) = self.outcome {
            extensions.set("outcome", outcome);
        }
        if let Some(limit) = self.limit {
            extensions.set("limit", limit);
        }
        error.extensions = Some(extensions);
        error
    }
}

impl IntoResponse for Failure {
    fn into_response(mut self) -> Response {
        let headers = HeaderMap::from_iter(self.header.take().map(|header| *header));
        let (status, code) = (self.status, self.code);
        let body = Json(json!({ "errors": [self.into_error()] }));
        let mut response = (status, headers, body).into_response();
        response.extensions_mut().insert(Note {
            operation: None,
            code: Some(code.name().to_owned()),
        });
        response
    }
}

/// Answers to any path that is not one of ours.
pub(super) async fn not_found() -> Response {
    Failure::not_found().into_response()
}
