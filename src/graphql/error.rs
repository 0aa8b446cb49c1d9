//! What a client is told when something fails: the one place that knows GraphQL's error codes.
//!
//! Resolvers fail with this module's `Error`, which only takes fixed texts and has no `Display`, so no
//! cause can reach a client by way of `?`. Causes go to the log, once, where they become an `Error`.

use std::borrow::Cow;
use std::error::Error as StdError;

use async_graphql::{ErrorExtensionValues, Response, ServerError, Value};

use crate::domain::Invalid;
use crate::likes::{self, Outcome};

/// What a client is told where the outcome is unknown.
const MAY_HAVE_HAPPENED: &str = "Not available right now, but the change may have happened. Repeat it with the same idempotencyKey.";

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
}

impl Error {
    /// A failure with a fixed text.
    pub fn new(code: Code, text: &'static str) -> Self {
        Self {
            code,
            text: Cow::Borrowed(text),
            argument: None,
            outcome: None,
        }
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
        let error = async_graphql::Error::from(self);
        let mut server_error = ServerError::new(error.message, None);
        server_error.extensions = error.extensions;
        Response::from_errors(vec![server_error])
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
        Self {
            message: error.text.into_owned(),
            source: None,
            extensions: Some(extensions),
        }
    }
}

/// Gives a code to the errors that have none: those that async-graphql made. It makes them of documents
/// and values that it refuses; anything else it says during execution is masked.
pub fn complete(errors: &mut [ServerError]) {
    for error in errors {
        let coded = error
            .extensions
            .as_ref()
            .is_some_and(|extensions| extensions.get("code").is_some());
        if coded {
            continue;
        }
        let code = if error.path.is_empty() || is_about_a_value(&error.message) {
            Code::BadUserInput
        } else {
            tracing::error!(
                error.code = Code::Internal.name(),
                error.message = error.message,
            );
            "Something went wrong on our side.".clone_into(&mut error.message);
            Code::Internal
        };
        error.source = None;
        error
            .extensions
            .get_or_insert_default()
            .set("code", code.name());
    }
}

/// Of a mutation, the fields below the first level are resolved when the change has happened: what is
/// not available there does not undo it, whatever the failed look-up says of itself.
pub fn after_a_change(errors: &mut [ServerError]) {
    for error in errors.iter_mut().filter(|error| error.path.len() > 1) {
        let extensions = error.extensions.get_or_insert_default();
        if extensions.get("outcome").is_some() {
            extensions.set("outcome", "unknown");
            MAY_HAVE_HAPPENED.clone_into(&mut error.message);
        }
    }
}

/// Whether something was away for a moment.
pub fn is_any_unavailable(errors: &[ServerError]) -> bool {
    let unavailable = Value::from(Code::Unavailable.name());
    errors.iter().any(|error| {
        let extensions = error.extensions.as_ref();
        extensions.and_then(|it| it.get("code")) == Some(&unavailable)
    })
}

/// Whether a text is one of those that async-graphql has for a value of the wrong type or size.
fn is_about_a_value(message: &str) -> bool {
    message.starts_with("Failed to parse \"") || message.starts_with("Expected input type \"")
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
    use async_graphql::{PathSegment, Pos};

    use super::*;

    fn code_of(error: &ServerError) -> String {
        let extensions = error.extensions.as_ref().unwrap();
        extensions.get("code").unwrap().to_string()
    }

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

    #[test]
    fn what_is_missing_from_the_answer_of_a_change_does_not_undo_it() {
        let away = || {
            let error = Error::from(likes::Error::unavailable("the database failed"));
            async_graphql::Error::from(error).into_server_error(Pos::default())
        };
        let field = |name: &str| PathSegment::Field(name.into());
        let path = vec![field("toggleLike"), field("activity"), field("topLikers")];
        let mut errors = [away().with_path(path[..1].to_vec()), away().with_path(path)];
        after_a_change(&mut errors);
        let outcome = |error: &ServerError| {
            let extensions = error.extensions.as_ref().unwrap();
            extensions.get("outcome").unwrap().to_string()
        };
        assert_eq!(outcome(&errors[0]), "\"not_applied\"");
        assert_eq!(outcome(&errors[1]), "\"unknown\"");
        assert!(errors[1].message.contains("may have happened"));
    }

    #[test]
    fn errors_without_a_code_get_one() {
        let refused = ServerError::new("Unknown field", None);
        let at = vec![PathSegment::Field("a".into())];
        let value = ServerError::new("Failed to parse \"Int\": no", None).with_path(at.clone());
        let other = ServerError::new("disk on fire", None).with_path(at);
        let mut errors = [refused, value, other];
        complete(&mut errors);
        assert_eq!(code_of(&errors[0]), "\"BAD_USER_INPUT\"");
        assert_eq!(code_of(&errors[1]), "\"BAD_USER_INPUT\"");
        assert_eq!(code_of(&errors[2]), "\"INTERNAL\"");
        assert_eq!(errors[2].message, "Something went wrong on our side.");
    }
}
