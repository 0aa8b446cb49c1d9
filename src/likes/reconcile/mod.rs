//! Compares SQL's counts, SQL's rows and Redis' sets, and heals what differs, all under live traffic.

mod compare;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};

use super::Result;
use crate::cache::Cache;
use crate::domain::{ActivityId, Partition};
use crate::fault::point;
use crate::store::Store;
pub use compare::SetDifference;

/// Activities counted in one statement.
const COUNTED_AT_ONCE: usize = 500;
/// Sets compared at once.
const COMPARED_AT_ONCE: usize = 4;

/// Something that should be equal and is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// `activities.like_count` is not the number of rows.
    Count {
        /// Which activity.
        activity: ActivityId,
        /// The column.
        counted: i64,
        /// The rows.
        rows: i64,
    },
    /// A set is not what SQL's rows and the unpersisted events make.
    Set {
        /// Which activity.
        activity: ActivityId,
        /// In which way.
        how: SetDifference,
    },
    /// A set of an activity that does not exist.
    Orphan {
        /// Which activity.
        activity: ActivityId,
    },
    /// A set that kept changing too fast to be compared, or whose partition has no worker to heal it.
    Unclear {
        /// Which activity.
        activity: ActivityId,
    },
}

impl Difference {
    /// The word for this kind of difference.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Count { .. } => "count",
            Self::Set { how, .. } => how.kind(),
            Self::Orphan { .. } => "orphan_set",
            Self::Unclear { .. } => "unclear",
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind();
        match self {
            Self::Count {
                activity,
                counted,
                rows,
            } => write!(
                f,
                "{kind}: activity {activity} has like_count {counted} but {rows} rows"
            ),
            Self::Set { activity, how } => write!(f, "{kind}: activity {activity}: {how}"),
            Self::Orphan { activity } => {
                write!(
                    f,
                    "{kind}: there is a set of activity {activity}, which does not exist"
                )
            }
            Self::Unclear { activity } => {
                write!(
                    f,
                    "{kind}: the set of activity {activity} could not be compared in time"
                )
            }
        }
    }
}

/// How far a run is, for a progress bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// So many more activities were counted.
    Counted(u64),
    /// So many sets are there to compare in one more partition.
    Found(u64),
    /// One more set was compared.
    Compared,
}

/// What a run found.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Activities whose counts were compared.
    pub activities: u64,
    /// Sets that were compared.
    pub sets: u64,
    /// What differs.
    pub differences: Vec<Difference>,
}

/// Compares and heals.
pub struct Reconcile {
    store: Arc<dyn Store>,
    cache: Arc<Cache>,
}

impl Reconcile {
    /// Between this SQL and this Redis.
    pub fn new(store: Arc<dyn Store>, cache: Arc<Cache>) -> Self {
        Self { store, cache }
    }

    /// Compares everything; with `repair` each difference is healed as it is found.
    ///
    /// # Errors
    /// `Unavailable` when Redis or SQL is away.
    pub async fn run(&self, repair: bool, progress: impl Fn(Progress)) -> Result<Report> {
        let mut report = Report::default();
        self.counts(repair, &progress, &mut report).await?;
        for partition in self.cache.partitions().all() {
            self.sets(partition, repair, &progress, &mut report).await?;
        }
        Ok(report)
    }

    async fn counts(
        &self,
        repair: bool,
        progress: &impl Fn(Progress),
        report: &mut Report,
    ) -> Result<()> {
        let mut after = None;
        loop {
            let counts = self.store.counts(after, COUNTED_AT_ONCE).await?;
            point("reconcile.counted");
            let Some(last) = counts.last() else {
                return Ok(());
            };
            after = Some(last.activity);
            for found in counts.iter().filter(|found| found.counted != found.rows) {
                report.differences.push(Difference::Count {
                    activity: found.activity,
                    counted: found.counted,
                    rows: found.rows,
                });
                if repair {
                    self.store.recount(found.activity).await?;
                    point("reconcile.recounted");
                }
            }
            report.activities += counts.len() as u64;
            progress(Progress::Counted(counts.len() as u64));
        }
    }

    async fn sets(
        &self,
        partition: Partition,
        repair: bool,
        progress: &impl Fn(Progress),
        report: &mut Report,
    ) -> Result<()> {
        let sets = self.cache.sets(partition).await?;
        point("reconcile.listed");
        progress(Progress::Found(sets.len() as u64));
        let known = self.store.activities(&sets).await?;
        point("reconcile.known");
        let known: HashSet<_> = known.into_iter().map(|row| row.id).collect();
        let compared = futures::stream::iter(&sets).map(|&activity| {
            let known = known.contains(&activity);
            async move {
                let difference = self.set(partition, activity, known, repair).await?;
                progress(Progress::Compared);
                Ok::<_, super::Error>(difference)
            }
        });
        let found: Vec<_> = compared.buffered(COMPARED_AT_ONCE).try_collect().await?;
        report.sets += sets.len() as u64;
        report.differences.extend(found.into_iter().flatten());
        Ok(())
    }

    async fn set(
        &self,
        partition: Partition,
        activity: ActivityId,
        known: bool,
        repair: bool,
    ) -> Result<Option<Difference>> {
        // It may have been made after the list of sets was read.
        if !known && self.store.activities(&[activity]).await?.is_empty() {
            if repair {
                self.cache.forget(activity).await?;
                point("reconcile.forgotten");
            }
            return Ok(Some(Difference::Orphan { activity }));
        }
        let compared = self.compare(partition, activity).await?;
        point("reconcile.compared");
        if repair && matches!(compared, Some(Difference::Set { .. })) {
            self.cache.drop_set(activity).await?;
            point("reconcile.dropped");
        }
        Ok(compared)
    }
}
