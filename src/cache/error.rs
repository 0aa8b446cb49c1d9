//! What can go wrong with Redis.

use redis::RedisError;

/// The result of a cache method.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure, by whether the command may have been carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection could be had in time; nothing was sent.
    #[error("Redis cannot be reached")]
    Unreachable(#[source] Option<RedisError>),
    /// Redis answered that it did not do it: memory full, loading, read-only and the like.
    #[error("Redis refused")]
    Refused(#[source] RedisError),
    /// The connection broke or the time was up after the command was sent: it may have been carried out.
    #[error("Redis did not answer")]
    NoAnswer(#[source] RedisError),
    /// Redis holds or answers something that this program never writes.
    #[error("unexpected data in Redis: {0}")]
    Unexpected(String),
}

impl From<RedisError> for Error {
    fn from(error: RedisError) -> Self {
        if error.is_io_error() {
            Self::NoAnswer(error)
        } else if error.code().is_some() {
            Self::Refused(error)
        } else {
            Self::Unexpected(error.to_string())
        }
    }
}
