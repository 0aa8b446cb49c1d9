//! SQLite, in a file of this machine.

mod activities;
mod admin;
mod bind;
mod liked;
mod likes;
mod load;
mod persist;
mod users;

use std::collections::HashMap;
use std::str::FromStr;

use async_trait::async_trait;
use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, SqlitePool};

use super::{
    Batch, Counts, Deletion, Error, LookQuery, Options, Persisted, Result, RowsQuery, Snapshot,
    Store,
};
use crate::domain::{
    Activity, ActivityId, ActivityOrder, EventId, FeedPlace, Identity, LikedActivity, LikedPlace,
    Liker, NewActivity, Page, Partition, Partitions, Slice, Subject, User, UserId, Views,
};

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");

/// Reads as of one moment, that of the first statement.
const READ: &str = "BEGIN DEFERRED";
/// Writes. Takes the one write lock at once: a transaction that first reads and then wants it is refused
/// without waiting if somebody else has written in between.
const WRITE: &str = "BEGIN IMMEDIATE";

/// A SQLite database.
pub struct Sqlite {
    readers: SqlitePool,
    /// One connection: writers of this process wait here in order, rather than inside SQLite by sleeping.
    writer: SqlitePool,
    /// How to make the file.
    creating: SqliteConnectOptions,
}

impl Sqlite {
    /// Prepares to open the file; does so when first needed. Wants to be called within a runtime.
    ///
    /// # Errors
    /// `Error::Address` for a database in memory, which pools cannot share; `Error::Database` if the
    /// address cannot be read.
    pub fn open(address: &str, options: &Options) -> Result<Self> {
        if address.contains(":memory:") || address.contains("mode=memory") {
            return Err(Error::Address);
        }
        // Statements are not logged: whoever handles a failure reports it, once.
        let existing = SqliteConnectOptions::from_str(address)?
            .create_if_missing(false)
            .foreign_keys(true)
            .busy_timeout(options.patience)
            .disable_statement_logging();
        // Readers go on while somebody writes. FULL, not NORMAL, because events are trimmed from Redis
        // once they are committed here: a commit that a power loss takes back would be lost for good.
        let writing = existing
            .clone()
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        let creating = writing.clone().create_if_missing(true);
        let pool = SqlitePoolOptions::new().acquire_timeout(options.patience);
        let readers = pool
            .clone()
            .max_connections(options.connections)
            .connect_lazy_with(existing.pragma("query_only", "on"));
        let writer = pool.max_connections(1).connect_lazy_with(writing);
        Ok(Self {
            readers,
            writer,
            creating,
        })
    }
}

#[async_trait]
impl Store for Sqlite {
    async fn migrate(&self) -> Result<()> {
        admin::migrate(&self.creating).await
    }

    async fn verify(&self) -> Result<()> {
        admin::verify(&self.readers, self.creating.get_filename()).await
    }

    async fn ensure_checkpoints(&self, partitions: Partitions) -> Result<()> {
        admin::ensure_checkpoints(&self.writer, partitions).await
    }

    async fn ping(&self) -> Result<()> {
        admin::ping(&self.readers).await
    }

    async fn user_of(&self, subject: &Subject) -> Result<Option<UserId>> {
        users::user_of(&self.readers, subject).await
    }

    async fn ensure_user(&self, identity: &Identity) -> Result<UserId> {
        users::ensure_user(&self.readers, &self.writer, identity).await
    }

    async fn users(&self, ids: &[UserId]) -> Result<Vec<User>> {
        users::users(&self.readers, ids).await
    }

    async fn activities(&self, ids: &[ActivityId]) -> Result<Vec<Activity>> {
        activities::activities(&self.readers, ids).await
    }

    async fn feed(&self, order: ActivityOrder, page: &Page<FeedPlace>) -> Result<Slice<Activity>> {
        activities::feed(&self.readers, order, page).await
    }

    async fn liked(
        &self,
        users: &[UserId],
        page: &Page<LikedPlace>,
    ) -> Result<HashMap<UserId, Slice<LikedActivity>>> {
        liked::liked(&self.readers, users, page).await
    }

    async fn create_activity(&self, new: &NewActivity) -> Result<Activity> {
        activities::create_activity(&self.writer, new).await
    }

    async fn delete_activity(&self, id: ActivityId, by: UserId) -> Result<Deletion> {
        activities::delete_activity(&self.writer, id, by).await
    }

    async fn look(&self, query: &LookQuery<'_>) -> Result<Snapshot<Views>> {
        likes::look(&self.readers, query).await
    }

    async fn likers(
        &self,
        query: &RowsQuery<'_>,
        page: &Page<Liker>,
    ) -> Result<Snapshot<Slice<Liker>>> {
        likes::likers(&self.readers, query, page).await
    }

    async fn checkpoint(&self, partition: Partition) -> Result<EventId> {
        persist::checkpoint(&self.readers, partition).await
    }

    async fn persist(&self, batch: &Batch) -> Result<Persisted> {
        persist::persist(&self.writer, batch).await
    }

    async fn counts(&self, after: Option<ActivityId>, limit: usize) -> Result<Vec<Counts>> {
        admin::counts(&self.readers, after, limit).await
    }

    async fn recount(&self, activity: ActivityId) -> Result<Option<(i64, i64)>> {
        admin::recount(&self.writer, activity).await
    }

    async fn dead_letters(&self) -> Result<Vec<(String, i64)>> {
        admin::dead_letters(&self.readers).await
    }

    async fn load_users(&self, users: &[Identity]) -> Result<Vec<UserId>> {
        load::load_users(&self.writer, users).await
    }

    async fn load_activities(&self, activities: &[NewActivity]) -> Result<Vec<ActivityId>> {
        load::load_activities(&self.writer, activities).await
    }

    async fn load_likes(&self, likes: &[(ActivityId, Liker)]) -> Result<()> {
        load::load_likes(&self.writer, likes).await
    }
}
