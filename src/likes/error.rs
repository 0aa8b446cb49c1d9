//! Why a request about likes could not be answered.

use std::error::Error as StdError;

/// The result of a request.
pub type Result<T> = std::result::Result<T, Error>;

/// Whether a failed change may have happened all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It did not happen: repeat it freely.
    NotApplied,
    /// It may have happened: repeat it with the same idempotency key.
    Unknown,
}

/// A failure, by what the client can do about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such activity.
    #[error("there is no such activity")]
    NotFound,
    /// Only the author may do this.
    #[error("only its author may delete an activity")]
    Forbidden,
    /// The idempotency key has been used for another operation.
    #[error("this idempotency key was used for another operation")]
    Conflict,
    /// A service behind this one is away or overloaded.
    #[error("likes are unavailable: {reason}")]
    Unavailable {
        /// Whether a change happened.
        outcome: Outcome,
        /// In short, for the log.
        reason: &'static str,
        /// Why.
        source: Option<Box<dyn StdError + Send + Sync>>,
    },
    /// A fault of ours.
    #[error("an internal error")]
    Internal(#[source] Box<dyn StdError + Send + Sync>),
}

impl From<crate::store::Error> for Error {
    fn from(error: crate::store::Error) -> Self {
        match error {
            crate::store::Error::Database(_) => Self::Unavailable {
                outcome: Outcome::NotApplied,
                reason: "the database failed",
                source: Some(Box::new(error)),
            },
            other => Self::Internal(Box::new(other)),
        }
    }
}
