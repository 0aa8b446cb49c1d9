//! Postgres, and what speaks its protocol.

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
use std::time::Duration;

use async_trait::async_trait;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use sqlx::{ConnectOptions, PgPool};

use super::{
    Batch, Counts, Deletion, LookQuery, Options, Persisted, Result, RowsQuery, Snapshot, Store,
};
use crate::domain::{
    Activity, ActivityId, ActivityOrder, EventId, FeedPlace, Identity, LikedActivity, LikedPlace,
    Liker, NewActivity, Page, Partition, Partitions, Slice, Subject, User, UserId, Views,
};

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/postgres");

/// Reads as of one moment.
const READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
/// Writes. Each statement sees what others have committed before it, above all after waiting for a
/// lock, whatever the server's default is.
const WRITE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// A Postgres database.
pub struct Postgres {
    /// For single statements. No transaction ever begins here, so none can be left open.
    statements: PgPool,
    /// For transactions, which are seen to have ended when a connection comes back.
    transactions: PgPool,
    /// For connections of their own, without limits of time.
    unlimited: PgConnectOptions,
}

impl Postgres {
    /// Prepares to connect; does so when first needed. Wants to be called within a runtime.
    ///
    /// # Errors
    /// `Error::Database` if the address cannot be read.
    pub fn open(address: &str, options: &Options) -> Result<Self> {
        // Statements are not logged: whoever handles a failure reports it, once.
        let unlimited = PgConnectOptions::from_str(address)?
            .application_name("likewise")
            .disable_statement_logging();
        let patience = milliseconds(options.patience);
        // The server gives up where the client has: a statement that nobody waits for any more, and
        // the locks of a process that stopped in the middle of a transaction.
        let limited = unlimited.clone().options([
            ("statement_timeout", patience.as_str()),
            ("idle_in_transaction_session_timeout", patience.as_str()),
            // A page of likes is read in the order of its index. Where the average activity has about
            // as many likes as the page takes, the planner would rather collect and sort them all, which
            // for the one activity that everybody likes means a million rows a page.
            ("enable_bitmapscan", "off"),
        ]);
        let pool = PgPoolOptions::new().acquire_timeout(options.patience);
        let for_transactions = (options.connections / 2).max(1);
        let for_statements = options.connections.saturating_sub(for_transactions).max(1);
        let statements = pool
            .clone()
            .max_connections(for_statements)
            .connect_lazy_with(limited.clone());
        let transactions = pool
            .max_connections(for_transactions)
            .after_release(|connection, _| Box::pin(end_transaction(connection)))
            .connect_lazy_with(limited);
        Ok(Self {
            statements,
            transactions,
            unlimited,
        })
    }
}

/// Ends a transaction that sqlx does not know of. It is open when the future of `begin` is dropped after
/// `BEGIN` was sent and before it was answered, as happens to a request whose client goes away. The next
/// write on that connection would be part of it and never be committed.
/// Outside of a transaction, `BEGIN; ROLLBACK` does nothing and, unlike `ROLLBACK` alone, warns of nothing.
async fn end_transaction(connection: &mut PgConnection) -> sqlx::Result<bool> {
    sqlx::raw_sql("BEGIN; ROLLBACK").execute(connection).await?;
    Ok(true)
}

/// Postgres takes 0 for no limit at all.
fn milliseconds(patience: Duration) -> String {
    patience.as_millis().max(1).to_string()
}

#[async_trait]
impl Store for Postgres {
    async fn migrate(&self) -> Result<()> {
        admin::migrate(&self.unlimited).await
    }

    async fn verify(&self) -> Result<()> {
        admin::verify(&self.statements).await
    }

    async fn ensure_checkpoints(&self, partitions: Partitions) -> Result<()> {
        admin::ensure_checkpoints(&self.transactions, partitions).await
    }

    async fn ping(&self) -> Result<()> {
        admin::ping(&self.statements).await
    }

    async fn user_of(&self, subject: &Subject) -> Result<Option<UserId>> {
        users::user_of(&self.statements, subject).await
    }

    async fn ensure_user(&self, identity: &Identity) -> Result<UserId> {
        users::ensure_user(&self.statements, identity).await
    }

    async fn users(&self, ids: &[UserId]) -> Result<Vec<User>> {
        users::users(&self.statements, ids).await
    }

    async fn activities(&self, ids: &[ActivityId]) -> Result<Vec<Activity>> {
        activities::activities(&self.statements, ids).await
    }

    async fn feed(&self, order: ActivityOrder, page: &Page<FeedPlace>) -> Result<Slice<Activity>> {
        activities::feed(&self.statements, order, page).await
    }

    async fn liked(
        &self,
        users: &[UserId],
        page: &Page<LikedPlace>,
    ) -> Result<HashMap<UserId, Slice<LikedActivity>>> {
        liked::liked(&self.transactions, users, page).await
    }

    async fn create_activity(&self, new: &NewActivity) -> Result<Activity> {
        activities::create_activity(&self.statements, new).await
    }

    async fn delete_activity(&self, id: ActivityId, by: UserId) -> Result<Deletion> {
        activities::delete_activity(&self.transactions, id, by).await
    }

    async fn look(&self, query: &LookQuery<'_>) -> Result<Snapshot<Views>> {
        likes::look(&self.transactions, query).await
    }

    async fn likers(
        &self,
        query: &RowsQuery<'_>,
        page: &Page<Liker>,
    ) -> Result<Snapshot<Slice<Liker>>> {
        likes::likers(&self.transactions, query, page).await
    }

    async fn checkpoint(&self, partition: Partition) -> Result<EventId> {
        persist::checkpoint(&self.statements, partition).await
    }

    async fn persist(&self, batch: &Batch) -> Result<Persisted> {
        persist::persist(&self.transactions, batch).await
    }

    async fn counts(&self, after: Option<ActivityId>, limit: usize) -> Result<Vec<Counts>> {
        admin::counts(&self.statements, after, limit).await
    }

    async fn recount(&self, activity: ActivityId) -> Result<Option<(i64, i64)>> {
        admin::recount(&self.transactions, activity).await
    }

    async fn dead_letters(&self) -> Result<Vec<(String, i64)>> {
        admin::dead_letters(&self.statements).await
    }

    async fn load_users(&self, users: &[Identity]) -> Result<Vec<UserId>> {
        load::load_users(&self.statements, users).await
    }

    async fn load_activities(&self, activities: &[NewActivity]) -> Result<Vec<ActivityId>> {
        load::load_activities(&self.statements, activities).await
    }

    async fn load_likes(&self, likes: &[(ActivityId, Liker)]) -> Result<()> {
        load::load_likes(&self.transactions, likes).await
    }
}
