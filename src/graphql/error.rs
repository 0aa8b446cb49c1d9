//! What a client is told when something fails: the one place that knows GraphQL's error codes.
//!
//! Resolvers fail with this module's `Error`, which only takes fixed texts and has no `Display`, so no
//! cause can reach a client by way of `?`. Causes go to the log, once, where they become an `Error`.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::time::Duration;

use async_graphql::{ErrorExtensionValues, Pos, Response, ServerError};

use super::guard::Excess;
use crate::domain::Invalid;
use crate::likes::{self, Outcome};
use crate::telemetry::REQUESTS_REFUSED;

/// A client that is told to wait longer than an hour would take it for a mistake.
const MOST_MILLIS: u128 = 3_600_000;
/// What a client is told where the outcome is unknown.
pub const MAY_HAVE_HAPPENED: &str = "Not available right now, but the change may have happened. Repeat it with the same idempotencyKey.";

/// The result of a resolver.
pub type Result<T> = std::result::Result<T, Error>;

/// `extensions.code` of an error: what a client can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Send a token.
    Unauthenticated,
    /// Not for this user.
    Forbidden,
    /// It does not exist, or no longer.
    NotFound,
    /// The request is wrong; `extensions.argument` names the argument where one is to blame.
    BadUserInput,
    /// The idempotency key belongs to another operation.
    Conflict,
    /// No document of this hash; send it along.
    PersistedQueryNotFound,
    /// Documents have to be sent as they are.
    PersistedQueryNotSupported,
    /// Too much at once; wait.
    RateLimited,
    /// Try again soon; `extensions.outcome` says whether a change may have happened.
    Unavailable,
    /// Our fault; the log has the cause.
    Internal,
}

impl Code {
    /// As it stands in `extensions.code`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::Forbidden => "FORBIDDEN",
            Self::NotFound => "NOT_FOUND",
            Self::BadUserInput => "BAD_USER_INPUT",
            Self::Conflict => "CONFLICT",
            Self::PersistedQueryNotFound => "PERSISTED_QUERY_NOT_FOUND",
            Self::PersistedQueryNotSupported => "PERSISTED_QUERY_NOT_SUPPORTED",
            Self::RateLimited => "RATE_LIMITED",
            Self::Unavailable => "UNAVAILABLE",
            Self::Internal => "INTERNAL",
        }
    }
}

/// A failure as the client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    code: Code,
    text: Cow<'static, str>,
    argument: Option<&'static str>,
    outcome: Option<Outcome>,
    limit: Option<&'static str>,
    retry_after: Option<Duration>,
    at: Option<Pos>,
}

impl Error {
    /// A failure with a fixed text.
    pub fn new(code: Code, text: &'static str) -> Self {
        Self {
            code,
            text: Cow::Borrowed(text),
            argument: None,
            outcome: None,
            limit: None,
            retry_after: None,
            at: None,
        }
    }

    /// A document that cannot be executed, wrong at a place. The text is fit for clients.
    pub fn bad_document(text: String, at: Option<Pos>) -> Self {
        Self {
            text: Cow::Owned(text),
            at,
            ..Self::new(Code::BadUserInput, "")
        }
    }

    /// Too much done of late.
    pub fn rate_limited(retry_after: Duration) -> Self {
        Self {
            retry_after: Some(retry_after),
            ..Self::new(
                Code::RateLimited,
                "Too much at once. Nothing was done; wait a little.",
            )
        }
    }

    /// The name of the limit that was passed, where one was.
    pub fn limit(&self) -> Option<&'static str> {
        self.limit
    }

    /// An argument that is not what it should be.
    pub fn argument(name: &'static str, problem: &str) -> Self {
        Self {
            text: Cow::Owned(format!("Argument \"{name}\": {problem}.")),
            argument: Some(name),
            ..Self::new(Code::BadUserInput, "")
        }
    }

    /// An argument that the domain refuses; its messages are fit for clients.
    pub fn invalid(name: &'static str, invalid: &Invalid) -> Self {
        Self::argument(name, &invalid.0)
    }

    /// No token where one is needed.
    pub fn unauthenticated() -> Self {
        let text = "Sign in first: this needs a bearer token in the Authorization header.";
        Self::new(Code::Unauthenticated, text)
    }

    /// There is no such activity.
    pub fn no_activity() -> Self {
        Self::new(Code::NotFound, "There is no such activity.")
    }

    /// A fault of this program that has no cause elsewhere. `what` goes to the log only.
    pub fn internal(what: &'static str) -> Self {
        tracing::error!(error.code = Code::Internal.name(), error.message = what);
        Self::new(Code::Internal, "Something went wrong on our side.")
    }

    /// A response of nothing but this error.
    pub fn into_response(self) -> Response {
        let at = self.at;
        let error = async_graphql::Error::from(self);
        let mut server_error = ServerError::new(error.message, at);
        server_error.extensions = error.extensions;
        Response::from_errors(vec![server_error])
    }
}

impl From<Excess> for Error {
    fn from(excess: Excess) -> Self {
        let name = excess.limit.name();
        metrics::counter!(REQUESTS_REFUSED, "limit" => name).increment(1);
        Self {
            limit: Some(name),
            ..Self::bad_document(excess.text(), excess.at)
        }
    }
}

impl From<likes::Error> for Error {
    fn from(error: likes::Error) -> Self {
        match error {
            likes::Error::NotFound => Self::no_activity(),
            likes::Error::Forbidden => Self::new(
                Code::Forbidden,
                "Only the author of an activity may delete it.",
            ),
            likes::Error::Conflict => Self::new(
                Code::Conflict,
                "This idempotencyKey was used for another operation. Nothing was changed; make a new key.",
            ),
            likes::Error::Unavailable { outcome, .. } => {
                log(Code::Unavailable, &error);
                let text = match outcome {
                    Outcome::NotApplied => {
                        "Not available right now, and nothing was changed. Try again in a moment."
                    }
                    Outcome::Unknown => MAY_HAVE_HAPPENED,
                };
                Self {
                    outcome: Some(outcome),
                    ..Self::new(Code::Unavailable, text)
                }
            }
            likes::Error::Internal(_) => {
                log(Code::Internal, &error);
                Self::new(Code::Internal, "Something went wrong on our side.")
            }
        }
    }
}

impl From<Error> for async_graphql::Error {
    fn from(error: Error) -> Self {
        let mut extensions = ErrorExtensionValues::default();
        extensions.set("code", error.code.name());
        if let Some(argument) = error.argument {
            extensions.set("argument", argument);
        }
        if let Some(outcome) = error.outcome {
            let outcome = match outcome {
                Outcome::NotApplied => "not_applied",
                Outcome::Unknown => "unknown",
            };
            extensions.set("outcome", outcome);
        }
        if let Some(limit) = error.limit {
            extensions.set("limit", limit);
        }
        if let Some(wait) = error.retry_after {
            let millis = wait.as_millis().clamp(1, MOST_MILLIS);
            extensions.set("retryAfterMs", u64::try_from(millis).unwrap_or(u64::MAX));
        }
        Self {
            message: error.text.into_owned(),
            source: None,
            extensions: Some(extensions),
        }
    }
}

fn log(code: Code, error: &likes::Error) {
    let mut chain = Vec::new();
    let mut source = error.source();
    while let Some(cause) = source {
        chain.push(cause.to_string());
        source = cause.source();
    }
    tracing::error!(
        error.code = code.name(),
        error.message = %error,
        error.source = chain.join(": "),
        "a request failed"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_never_reach_a_client() {
        let cause = std::io::Error::other("password=hunter2");
        let error = Error::from(likes::Error::Unavailable {
            outcome: Outcome::Unknown,
            reason: "redis://secret",
            source: Some(Box::new(cause)),
        });
        let shown = serde_json::to_string(&error.into_response()).unwrap();
        assert!(
            !shown.contains("hunter2") && !shown.contains("secret"),
            "{shown}"
        );
        assert!(shown.contains(r#""code":"UNAVAILABLE""#), "{shown}");
        assert!(shown.contains(r#""outcome":"unknown""#), "{shown}");
    }
}
