//! What SQL keeps, behind one narrow interface: one method is one transaction.
//!
//! Each database has an adapter of its own with its own statements and migrations. They lie side by
//! side, the same methods in the same order, and pass one conformance suite (`tests/it/store.rs`).

mod answers;
mod bounds;
mod error;
mod plan;
pub mod postgres;
mod rows;
mod schema;
pub mod sqlite;

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;

use crate::domain::{
    Activity, ActivityId, ActivityOrder, DeadLetter, EventId, FeedPlace, Identity, LikedActivity,
    LikedPlace, Liker, Look, NewActivity, Page, Partition, Partitions, Slice, Subject, Timestamp,
    User, UserId, Views,
};
pub use error::{Error, Result};

/// Chooses the database by the address' scheme. Connects when first needed; wants to be called within
/// a runtime.
///
/// # Errors
/// `Error::Address` for an unknown scheme, `Error::Database` for an address that cannot be read.
pub fn open(address: &str, options: &Options) -> Result<Arc<dyn Store>> {
    match address.split_once(':') {
        Some(("sqlite", _)) => Ok(Arc::new(sqlite::Sqlite::open(address, options)?)),
        Some(("postgres" | "postgresql", _)) => {
            Ok(Arc::new(postgres::Postgres::open(address, options)?))
        }
        _ => Err(Error::Address),
    }
}

/// A SQL database that keeps users, activities and likes.
///
/// Lists of keys may be long (thousands); every method sends a number of statements that does not
/// depend on their length. Keys without a row are left out of answers.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Brings the schema up to date.
    async fn migrate(&self) -> Result<()>;

    /// Verifies, without writing, that the schema is the one this program was built for.
    ///
    /// # Errors
    /// `Error::Unmigrated` says what to run.
    async fn verify(&self) -> Result<()>;

    /// Makes the checkpoints of a new database, or verifies that an old one has as many.
    ///
    /// # Errors
    /// `Error::PartitionsDiffer` names both numbers.
    async fn ensure_checkpoints(&self, partitions: Partitions) -> Result<()>;

    /// Answers when the database does.
    async fn ping(&self) -> Result<()>;

    /// The user whom a subject names.
    async fn user_of(&self, subject: &Subject) -> Result<Option<UserId>>;

    /// The user whom an identity names, made if there is none. Name and picture of an existing
    /// user follow the claims where the token has them. A new user without a name gets the subject
    /// as one.
    async fn ensure_user(&self, identity: &Identity) -> Result<UserId>;

    /// Users by key, in no order.
    async fn users(&self, ids: &[UserId]) -> Result<Vec<User>>;

    /// Activities by key, in no order.
    async fn activities(&self, ids: &[ActivityId]) -> Result<Vec<Activity>>;

    /// A page of all activities.
    async fn feed(&self, order: ActivityOrder, page: &Page<FeedPlace>) -> Result<Slice<Activity>>;

    /// The same page of what each of the users likes, newest like first.
    async fn liked(
        &self,
        users: &[UserId],
        page: &Page<LikedPlace>,
    ) -> Result<HashMap<UserId, Slice<LikedActivity>>>;

    /// Makes an activity.
    async fn create_activity(&self, new: &NewActivity) -> Result<Activity>;

    /// Deletes an activity and its likes, if `by` is its author.
    async fn delete_activity(&self, id: ActivityId, by: UserId) -> Result<Deletion>;

    /// The likes of activities by SQL's rows alone, all as of one moment.
    async fn look(&self, query: &LookQuery<'_>) -> Result<Snapshot<Views>>;

    /// The same page of the likers of each activity, earliest like first, all as of one moment.
    async fn likers(
        &self,
        query: &RowsQuery<'_>,
        page: &Page<Liker>,
    ) -> Result<Snapshot<Slice<Liker>>>;

    /// How far the events of a partition are persisted.
    async fn checkpoint(&self, partition: Partition) -> Result<EventId>;

    /// Persists a batch of events, if nobody has moved the checkpoint since it was read.
    async fn persist(&self, batch: &Batch) -> Result<Persisted>;

    /// The counts of up to `limit` activities with keys above `after`, in the order of keys.
    async fn counts(&self, after: Option<ActivityId>, limit: usize) -> Result<Vec<Counts>>;

    /// Sets an activity's `like_count` to the number of its rows, under the lock that the worker takes.
    /// Answers what it was and what it is now; None if there is no such activity.
    async fn recount(&self, activity: ActivityId) -> Result<Option<(i64, i64)>>;

    /// How many events were set aside, by reason.
    async fn dead_letters(&self) -> Result<Vec<(String, i64)>>;

    /// Writes demo or benchmark data: users in one go; answers their keys in the same order.
    async fn load_users(&self, users: &[Identity]) -> Result<Vec<UserId>>;

    /// Writes demo or benchmark data: activities in one go; answers their keys in the same order.
    async fn load_activities(&self, activities: &[NewActivity]) -> Result<Vec<ActivityId>>;

    /// Writes demo or benchmark data: likes in one go, for activities that have none yet and that
    /// Redis has no sets of. Counts and `likes_changed_at` follow.
    async fn load_likes(&self, likes: &[(ActivityId, Liker)]) -> Result<()>;
}

/// What came of a wish to delete an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// It is gone, with its likes.
    Deleted,
    /// Somebody else made it (or its author's account is gone).
    NotAuthor,
    /// There was no such activity.
    NotFound,
}

/// Which rows of likes to look at.
#[derive(Debug, Clone, Default)]
pub struct RowsQuery<'a> {
    /// Of which activities.
    pub activities: &'a [ActivityId],
    /// Rows to leave out as if they did not exist, because a newer state of them is known.
    pub except: &'a [(ActivityId, UserId)],
    /// Whose checkpoints to read along; usually none.
    pub partitions: &'a [Partition],
}

/// What to tell of the likes of activities.
#[derive(Debug, Clone, Default)]
pub struct LookQuery<'a> {
    /// Which rows count.
    pub rows: RowsQuery<'a>,
    /// Who wants to know of which activity whether they like it.
    pub viewers: &'a [(ActivityId, UserId)],
    /// How much of it.
    pub look: Look,
}

/// What SQL said, all as of one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot<T> {
    /// By activity; those without a row are left out.
    pub found: HashMap<ActivityId, T>,
    /// The checkpoints asked for.
    pub checkpoints: HashMap<Partition, EventId>,
}

/// The net effect of a run of events of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Whose events.
    pub partition: Partition,
    /// The checkpoint that the events were read from.
    pub from: EventId,
    /// The last of the events: the new checkpoint.
    pub to: EventId,
    /// The last event of each (activity, user), in the order of (activity, user).
    pub writes: Vec<Write>,
    /// The newest change of each activity, in the order of keys. `likes_changed_at` never falls.
    pub changed: Vec<(ActivityId, Timestamp)>,
    /// Entries that are not events, to be set aside.
    pub garbage: Vec<DeadLetter>,
}

/// What the row of one (activity, user) shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// The event that says so.
    pub event: EventId,
    /// Which activity.
    pub activity: ActivityId,
    /// Which user.
    pub user: UserId,
    /// The time of the like; None for no row.
    pub liked_at: Option<Timestamp>,
}

/// What came of persisting a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Persisted {
    /// It is in SQL.
    Committed {
        /// Events set aside, in `like_dead_letters`: garbage, and likes whose activity or user is gone.
        /// Unlikes of what is gone have nothing to do and are no dead letters.
        set_aside: Vec<DeadLetter>,
        /// Activities of this batch that SQL does not have.
        gone: Vec<ActivityId>,
        /// Activities that SQL has, but of which a like was set aside: their sets show more than SQL keeps.
        refused: Vec<ActivityId>,
    },
    /// Somebody else has moved the checkpoint; nothing was written.
    Fenced,
}

/// Two ways to count the likes of one activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Which activity.
    pub activity: ActivityId,
    /// The column `like_count`.
    pub counted: i64,
    /// The number of rows.
    pub rows: i64,
}

/// How to hold connections.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The most connections at once.
    pub connections: u32,
    /// The longest wait for one of them, and for a statement.
    pub patience: std::time::Duration,
}
