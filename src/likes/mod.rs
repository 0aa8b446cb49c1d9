//! Likes as a request sees them: where Redis and SQL meet.

mod change;
mod error;
mod feed;
mod gather;
mod live;
mod pending;
mod read;
pub mod rebuild;
pub mod reconcile;
mod sql;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use moka::future::Cache as Memory;
use tokio_util::task::TaskTracker;

use crate::cache::Cache;
use crate::domain::{ActivityId, LikeState, Subject, UserId};
use crate::store::Store;
pub use error::{Error, Outcome, Result};
pub use live::{Fresh, Watch};
use live::{Live, Rows};
use rebuild::Rebuilds;
use sql::Sql;

/// How many subjects of recent requests are remembered, each with its user's key, and how long: name
/// and picture of a user follow the token after this time.
const KNOWN_USERS: u64 = 100_000;
const KNOWN_FOR: Duration = Duration::from_mins(5);
/// How many activities are remembered as not existing, and how long: many requests for one cost one
/// look-up a second, and one that another node has just made is found a second later.
const ABSENT_ACTIVITIES: u64 = 100_000;
const ABSENT_FOR: Duration = Duration::from_secs(1);

/// Answers everything that GraphQL asks. Cheap to clone; one for a process.
#[derive(Clone)]
pub struct Likes {
    store: Arc<dyn Store>,
    cache: Arc<Cache>,
    sql: Sql,
    rebuilds: Rebuilds,
    tasks: TaskTracker,
    users: Memory<Subject, UserId>,
    absent: Memory<ActivityId, ()>,
    live: Live,
    /// Rows to be remembered, for watchers.
    rows: Option<Arc<Rows>>,
}

impl Likes {
    /// Brings Redis and SQL together. Reads of SQL, rebuilds and deletions under way are tracked by `tasks`.
    pub fn new(store: Arc<dyn Store>, cache: Arc<Cache>, tasks: TaskTracker) -> Self {
        Self {
            rebuilds: Rebuilds::new(Arc::clone(&store), Arc::clone(&cache), tasks.clone()),
            sql: Sql::new(&store, &tasks),
            tasks,
            store,
            cache,
            users: Memory::builder()
                .max_capacity(KNOWN_USERS)
                .time_to_live(KNOWN_FOR)
                .build(),
            absent: Memory::builder()
                .max_capacity(ABSENT_ACTIVITIES)
                .time_to_live(ABSENT_FOR)
                .build(),
            live: Live::new(),
            rows: None,
        }
    }
}

/// The likes of several activities.
#[derive(Debug, Clone, Default)]
pub struct Looks {
    /// By activity; an activity that does not exist is left out.
    pub states: HashMap<ActivityId, LikeState>,
    /// Whether Redis was away, so that these are SQL's and may miss the newest changes.
    pub degraded: bool,
}
