//! What can go wrong with SQL.

use std::num::NonZeroU16;

/// The result of a store method.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure of the database or of what it holds.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `DATABASE_URL` is of an unknown kind, or of a SQLite database in memory.
    #[error("DATABASE_URL must begin with postgres:, or with sqlite: and name a file")]
    Address,
    /// The schema is missing, older or newer than this program.
    #[error("the database's schema is not this program's ({0}): run `likewise migrate`")]
    Unmigrated(String),
    /// The number of partitions is fixed when a database is set up.
    #[error(
        "the database was set up with {stored} partitions, but LIKEWISE_PARTITIONS is {wanted}"
    )]
    PartitionsDiffer {
        /// What the database has.
        stored: i64,
        /// What the settings say.
        wanted: NonZeroU16,
    },
    /// Something stands in the database that this program never writes.
    #[error("impossible data in {table}.{column}")]
    Corrupt {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
    },
    /// The database could not be reached, or refused.
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    /// A migration failed.
    #[error("a migration failed")]
    Migrate(#[from] sqlx::migrate::MigrateError),
}
