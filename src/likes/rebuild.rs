//! Rebuilding missing sets from SQL: one at a time for each activity, a few at a time in all.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use metrics::{counter, histogram};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::cache::{Begun, Cache, Error as CacheError, Lease};
use crate::domain::{ActivityId, LikeState, Liker, Page, Slice, Take};
use crate::fault::point;
use crate::store::{Error as StoreError, LookQuery, RowsQuery, Store};
use crate::telemetry;

/// Likers in one page of SQL.
const PAGE: usize = 2000;
/// Likers in one command of Redis, which takes it a millisecond: everybody else waits that long.
const STAGED: usize = 500;
/// Rebuilds at once in this process; each reads SQL over a connection of its own.
const AT_ONCE: usize = 4;
/// Rebuilds that reads may have waiting. Beyond it reads go on with SQL's answers and start none.
const QUEUED: usize = 1000;

/// How a rebuild ended.
#[derive(Debug, Clone)]
pub enum Rebuilt {
    /// The set is there.
    Ready,
    /// There is no such activity.
    Gone,
    /// Not now: events wait for the worker, or another rebuilder is at it.
    Later,
    /// Redis or SQL failed.
    Failed(Arc<Failure>),
}

/// Why a rebuild failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Redis failed.
    #[error("rebuilding a set failed")]
    Cache(#[from] CacheError),
    /// SQL failed.
    #[error("reading likes for a rebuild failed")]
    Store(#[from] StoreError),
}

type Running = Shared<BoxFuture<'static, Rebuilt>>;

/// The rebuilds of this process. Cheap to clone.
#[derive(Clone)]
pub struct Rebuilds {
    rebuilder: Arc<Rebuilder>,
    running: Arc<Mutex<HashMap<ActivityId, Running>>>,
    tasks: TaskTracker,
}

/// Rebuilds one set after the other.
pub struct Rebuilder {
    store: Arc<dyn Store>,
    cache: Arc<Cache>,
    permits: Semaphore,
}

impl Rebuilds {
    /// From this SQL into this Redis, each in a task of its own.
    pub fn new(store: Arc<dyn Store>, cache: Arc<Cache>, tasks: TaskTracker) -> Self {
        Self {
            rebuilder: Arc::new(Rebuilder::new(store, cache)),
            running: Arc::default(),
            tasks,
        }
    }

    /// Rebuilds a set and waits for it; joins a rebuild that is under way.
    pub async fn finish(&self, activity: ActivityId) -> Rebuilt {
        self.start(activity, usize::MAX).await
    }

    /// Starts a rebuild in the background unless too many wait.
    pub fn begin(&self, activity: ActivityId) {
        drop(self.start(activity, QUEUED));
    }

    fn start(&self, activity: ActivityId, queued: usize) -> Running {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rebuild) = running.get(&activity) {
            return rebuild.clone();
        }
        if running.len() >= queued {
            return futures::future::ready(Rebuilt::Later).boxed().shared();
        }
        // A task of its own: who asked may go away, and others wait for the same rebuild.
        let (rebuilder, finished) = (Arc::clone(&self.rebuilder), Arc::clone(&self.running));
        let task = self.tasks.spawn(async move {
            let rebuilt = rebuilder.rebuild(activity).await;
            finished
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(&activity);
            rebuilt
        });
        let rebuild = task
            .map(|ended| ended.unwrap_or(Rebuilt::Later))
            .boxed()
            .shared();
        running.insert(activity, rebuild.clone());
        rebuild
    }
}

impl Rebuilder {
    /// From this SQL into this Redis.
    pub fn new(store: Arc<dyn Store>, cache: Arc<Cache>) -> Self {
        Self {
            store,
            cache,
            permits: Semaphore::new(AT_ONCE),
        }
    }

    async fn rebuild(&self, activity: ActivityId) -> Rebuilt {
        let Ok(_permit) = self.permits.acquire().await else {
            return Rebuilt::Later;
        };
        point("rebuild.permitted");
        let started = Instant::now();
        let rebuilt = match self.attempt(activity).await {
            Ok(rebuilt) => rebuilt,
            Err(failure) => {
                tracing::warn!(
                    activity.id = activity.get(),
                    error = &failure as &dyn StdError,
                    "a rebuild failed"
                );
                Rebuilt::Failed(Arc::new(failure))
            }
        };
        let result = match rebuilt {
            Rebuilt::Ready => "committed",
            Rebuilt::Gone => "gone",
            Rebuilt::Later => "lost",
            Rebuilt::Failed(_) => "failed",
        };
        counter!(telemetry::REBUILDS, "result" => result).increment(1);
        histogram!(telemetry::REBUILD_SECONDS).record(started.elapsed());
        rebuilt
    }

    /// Rebuilds a set if it is missing and SQL alone is right about it.
    ///
    /// # Errors
    /// Redis or SQL failed; the lease ends by itself soon, and the next attempt begins anew.
    pub async fn attempt(&self, activity: ActivityId) -> Result<Rebuilt, Failure> {
        let lease = match self.cache.begin(activity).await? {
            Begun::Exists => return Ok(Rebuilt::Ready),
            Begun::Pending | Begun::Held => return Ok(Rebuilt::Later),
            Begun::Granted(lease) => lease,
        };
        point("rebuild.begun");
        let filled = self.fill(activity, &lease).await;
        if !matches!(filled, Ok(Rebuilt::Ready)) {
            self.cache.abandon(&lease).await?;
            point("rebuild.abandoned");
        }
        filled
    }

    async fn fill(&self, activity: ActivityId, lease: &Lease) -> Result<Rebuilt, Failure> {
        let Some(head) = self.head(activity).await? else {
            return Ok(Rebuilt::Gone);
        };
        point("rebuild.headed");
        let mut version = head.changed_at;
        let mut rows = 0;
        let mut after = None;
        loop {
            let Some(page) = self.page(activity, after).await? else {
                return Ok(Rebuilt::Gone);
            };
            point("rebuild.paged");
            let Some(last) = page.items.last() else { break };
            for part in page.items.chunks(STAGED) {
                if !self.cache.stage(lease, part).await? {
                    return Ok(Rebuilt::Later);
                }
                point("rebuild.staged");
            }
            rows += i64::try_from(page.items.len()).unwrap_or(i64::MAX);
            version = version.max(Some(last.at));
            after = Some(*last);
            if !page.has_next {
                break;
            }
        }
        let committed = self.cache.commit(lease, version, rows).await?;
        point("rebuild.committed");
        if committed && rows != head.count {
            counter!(telemetry::COUNT_DRIFTS).increment(1);
            tracing::error!(
                activity.id = activity.get(),
                activity.like_count = head.count,
                activity.rows = rows,
                "like_count is not the number of rows: run `likewise reconcile --repair`"
            );
        }
        Ok(if committed {
            Rebuilt::Ready
        } else {
            Rebuilt::Later
        })
    }

    async fn head(&self, activity: ActivityId) -> Result<Option<LikeState>, Failure> {
        let activities = [activity];
        let query = LookQuery {
            rows: of(&activities),
            ..LookQuery::default()
        };
        let views = self.store.look(&query).await?.found.remove(&activity);
        Ok(views.map(|views| views.of(None)))
    }

    async fn page(
        &self,
        activity: ActivityId,
        after: Option<Liker>,
    ) -> Result<Option<Slice<Liker>>, Failure> {
        let page = Page {
            take: Take::First(PAGE),
            after,
            before: None,
        };
        Ok(self
            .store
            .likers(&of(&[activity]), &page)
            .await?
            .found
            .remove(&activity))
    }
}

/// All rows of likes of these activities.
fn of(activities: &[ActivityId]) -> RowsQuery<'_> {
    RowsQuery {
        activities,
        ..RowsQuery::default()
    }
}
