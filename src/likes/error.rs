//! Why a request about likes could not be answered.

use std::error::Error as StdError;
use std::sync::Arc;

use crate::cache::Error as CacheError;
use crate::store::Error as StoreError;

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

impl Error {
    /// Nothing was changed, and nothing failed that has a cause of its own.
    pub fn unavailable(reason: &'static str) -> Self {
        Self::Unavailable {
            outcome: Outcome::NotApplied,
            reason,
            source: None,
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Arc::new(error).into()
    }
}

impl From<Arc<StoreError>> for Error {
    fn from(error: Arc<StoreError>) -> Self {
        match *error {
            StoreError::Database(_) => Self::Unavailable {
                outcome: Outcome::NotApplied,
                reason: "the database failed",
                source: Some(Box::new(error)),
            },
            _ => Self::Internal(Box::new(error)),
        }
    }
}

impl From<CacheError> for Error {
    fn from(error: CacheError) -> Self {
        let (outcome, reason) = match error {
            CacheError::Unexpected(_) => return Self::Internal(Box::new(error)),
            CacheError::Unreachable(_) => (Outcome::NotApplied, "Redis cannot be reached"),
            CacheError::Refused(_) => (Outcome::NotApplied, "Redis refused"),
            CacheError::NoAnswer(_) => (Outcome::Unknown, "Redis did not answer"),
        };
        Self::Unavailable {
            outcome,
            reason,
            source: Some(Box::new(error)),
        }
    }
}
