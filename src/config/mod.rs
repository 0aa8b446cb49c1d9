//! Every setting: its name in the environment, its default and what it is for.
//!
//! A section is a plain struct that a command takes in. Single values are checked while they are read;
//! `require` and `check` find what is missing, misspelt or contradictory before anything connects.

mod access;
mod cache;
mod connections;
mod database;
mod documents;
mod limits;
mod live;
mod process;
mod rates;
mod redis;
mod secret;
mod server;
mod value;
mod worker;

pub use access::{Access, JwksSource, KeySource};
pub use cache::Cache;
pub use connections::Connections;
pub use database::Database;
pub use documents::{Documents, Trust};
pub use limits::Limits;
pub use live::Live;
pub use process::{Log, LogFormat, Process};
pub use rates::{RateLimits, Rates};
pub use redis::{Durability, Redis};
pub use secret::Secret;
pub use server::Server;
pub use value::duration;
pub use worker::Worker;

/// A setting that cannot be used. The text never holds the value, which may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{setting} {reason}")]
pub struct Invalid {
    /// The setting, as it is named in the environment.
    pub setting: &'static str,
    /// What is wrong, as the rest of a sentence that begins with the name.
    pub reason: String,
}

impl Invalid {
    fn new(setting: &'static str, reason: impl Into<String>) -> Self {
        Self {
            setting,
            reason: reason.into(),
        }
    }
}

/// What serving the API needs, beside likes.
#[derive(Debug, Clone, clap::Args)]
pub struct Api {
    /// Where and how it is served.
    #[command(flatten)]
    pub server: Server,
    /// Whose tokens are believed.
    #[command(flatten)]
    pub access: Access,
    /// What all clients together may hold.
    #[command(flatten)]
    pub connections: Connections,
    /// How much one request may ask for.
    #[command(flatten)]
    pub limits: Limits,
    /// How much one caller may do.
    #[command(flatten)]
    pub rates: Rates,
    /// Which documents are known by their hash.
    #[command(flatten)]
    pub documents: Documents,
}

/// What every process needs that touches likes.
#[derive(Debug, Clone, clap::Args)]
pub struct Storage {
    /// Where likes are kept.
    #[command(flatten)]
    pub database: Database,
    /// Where likes are answered.
    #[command(flatten)]
    pub redis: Redis,
    /// How likes lie in Redis.
    #[command(flatten)]
    pub cache: Cache,
}

impl Storage {
    /// Finds what single values cannot tell.
    ///
    /// # Errors
    /// Names the first setting that is missing or cannot be used.
    pub fn check(&self) -> Result<(), Invalid> {
        self.database.require()?;
        self.redis.require()?;
        Ok(())
    }
}
