//! Why a batch failed.

/// A failure of one of the two sides; the batch is tried again.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Redis failed.
    #[error("the worker cannot use Redis")]
    Cache(#[from] crate::cache::Error),
    /// SQL failed.
    #[error("the worker cannot use the database")]
    Store(#[from] crate::store::Error),
}
