//! Compares one set with SQL's rows and the events not yet persisted, page by page.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use tokio::time::sleep;

use super::{Difference, Reconcile};
use crate::cache::SetPage;
use crate::domain::{
    ActivityId, EventId, LikeEvent, Liker, Page, Partition, Slice, StreamEntry, Take, Timestamp,
    UserId,
};
use crate::likes::Result;
use crate::store::{LookQuery, RowsQuery};

/// Likers compared in one go.
const PAGE: usize = 5000;
/// Entries of a stream in one command.
const ENTRIES: usize = 1000;
/// A page is looked at again when the worker moved the checkpoint meanwhile: as often, after this pause.
const ATTEMPTS: usize = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// How a set differs from what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetDifference {
    /// It has no sentinel.
    Damaged,
    /// Its version is not that of the newest change.
    Version {
        /// The set's.
        set: Timestamp,
        /// What it should be.
        sql: Timestamp,
    },
    /// Likers are missing, too many, or have another time.
    Likers {
        /// How many are missing from the set.
        missing: usize,
        /// How many only the set has.
        extra: usize,
        /// How many have other times.
        moved: usize,
    },
}

impl SetDifference {
    /// The word for this kind of difference.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Damaged => "damaged_set",
            Self::Version { .. } => "version",
            Self::Likers { .. } => "likers",
        }
    }
}

impl fmt::Display for SetDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged => write!(f, "its set has no sentinel"),
            Self::Version { set, sql } => {
                write!(f, "its set has version {}, SQL has {}", set.0, sql.0)
            }
            Self::Likers {
                missing,
                extra,
                moved,
            } => write!(
                f,
                "its set lacks {missing} likers, has {extra} that SQL does not have, and {moved} with another time"
            ),
        }
    }
}

/// One page on both sides, as of one moment.
struct Sides {
    version: Timestamp,
    changed_at: Option<Timestamp>,
    set: Slice<Liker>,
    rows: Slice<Liker>,
    /// The last unpersisted event of each user up to the set's version.
    events: BTreeMap<UserId, LikeEvent>,
}

enum Seen {
    Missing,
    Damaged,
    Sides(Sides),
}

impl Reconcile {
    pub(super) async fn compare(
        &self,
        partition: Partition,
        activity: ActivityId,
    ) -> Result<Option<Difference>> {
        let differs = |how| Ok(Some(Difference::Set { activity, how }));
        let mut after = None;
        loop {
            let sides = match self.sides(partition, activity, after).await? {
                None => return Ok(Some(Difference::Unclear { activity })),
                Some(Seen::Missing) => return Ok(None),
                Some(Seen::Damaged) => return differs(SetDifference::Damaged),
                Some(Seen::Sides(sides)) => sides,
            };
            if after.is_none() {
                let newest = sides.events.values().map(|event| event.at).max();
                let sql = sides.changed_at.max(newest).unwrap_or(Timestamp(0));
                if sql != sides.version {
                    let set = sides.version;
                    return differs(SetDifference::Version { set, sql });
                }
            }
            let bound = bound(&sides);
            if let Some(how) = difference(&sides, after, bound) {
                return differs(how);
            }
            if bound.is_none() {
                return Ok(None);
            }
            after = bound;
        }
    }

    /// The same page of SQL, set and stream so that they belong together; None if that did not succeed in time.
    async fn sides(
        &self,
        partition: Partition,
        activity: ActivityId,
        after: Option<Liker>,
    ) -> Result<Option<Seen>> {
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                sleep(PAUSE).await;
            }
            if let Some(seen) = self.attempt(partition, activity, after).await? {
                return Ok(Some(seen));
            }
        }
        Ok(None)
    }

    /// SQL first, then the set, then the events after SQL's checkpoint: they hold all that the set shows
    /// and SQL does not, unless the worker has trimmed them meanwhile.
    async fn attempt(
        &self,
        partition: Partition,
        activity: ActivityId,
        after: Option<Liker>,
    ) -> Result<Option<Seen>> {
        let page = Page {
            take: Take::First(PAGE),
            after,
            before: None,
        };
        let (activities, partitions) = ([activity], [partition]);
        let rows = RowsQuery {
            activities: &activities,
            except: &[],
            partitions: &partitions,
        };
        let look = LookQuery {
            rows: rows.clone(),
            ..LookQuery::default()
        };
        let mut head = self.store.look(&look).await?;
        let mut snapshot = self.store.likers(&rows, &page).await?;
        let set = self.cache.set_page(activity, &page).await?;
        let checkpoint = snapshot.checkpoints.get(&partition).copied();
        let (Some(checkpoint), Some(head_views), Some(rows)) = (
            checkpoint.filter(|_| head.checkpoints == snapshot.checkpoints),
            head.found.remove(&activity),
            snapshot.found.remove(&activity),
        ) else {
            return Ok(None);
        };
        let Some(SetPage { version, likers }) = set else {
            return Ok(Some(Seen::Missing));
        };
        let Some(version) = version else {
            return Ok(Some(Seen::Damaged));
        };
        let events = self
            .events(partition, activity, checkpoint, version)
            .await?;
        Ok(events.map(|events| {
            Seen::Sides(Sides {
                version,
                changed_at: head_views.of(None).changed_at,
                set: likers,
                rows,
                events,
            })
        }))
    }

    /// None if the events after the checkpoint have been trimmed meanwhile.
    async fn events(
        &self,
        partition: Partition,
        activity: ActivityId,
        checkpoint: EventId,
        version: Timestamp,
    ) -> Result<Option<BTreeMap<UserId, LikeEvent>>> {
        let mut events = BTreeMap::new();
        let mut last = checkpoint;
        loop {
            let entries = self.cache.entries(partition, last, ENTRIES).await?;
            if entries
                .first()
                .is_some_and(|first| first.previous() != Some(last))
            {
                return Ok(None);
            }
            if last == checkpoint && entries.is_empty() {
                let moved = self.store.checkpoint(partition).await? != checkpoint;
                return Ok((!moved).then_some(events));
            }
            let full = entries.len() == ENTRIES;
            for entry in entries {
                last = entry.id();
                if let StreamEntry::Event(event) = entry
                    && event.activity == activity
                    && event.at <= version
                {
                    events.insert(event.user, event);
                }
            }
            if !full {
                return Ok(Some(events));
            }
        }
    }
}

/// How far both pages reach; None if to the end.
fn bound(sides: &Sides) -> Option<Liker> {
    let end = |slice: &Slice<Liker>| slice.items.last().copied().filter(|_| slice.has_next);
    match (end(&sides.set), end(&sides.rows)) {
        (Some(set), Some(rows)) => Some(set.min(rows)),
        (set, rows) => set.or(rows),
    }
}

fn difference(sides: &Sides, after: Option<Liker>, bound: Option<Liker>) -> Option<SetDifference> {
    let within = |liker: &Liker| {
        after.is_none_or(|after| *liker > after) && bound.is_none_or(|bound| *liker <= bound)
    };
    let rows = sides.rows.items.iter().copied();
    let unchanged = rows.filter(|row| !sides.events.contains_key(&row.user));
    let liked = sides
        .events
        .values()
        .filter(|event| event.liked)
        .map(|event| Liker {
            at: event.at,
            user: event.user,
        });
    let wanted: BTreeSet<_> = unchanged.chain(liked).filter(within).collect();
    let present: BTreeSet<_> = sides.set.items.iter().copied().filter(within).collect();
    if wanted == present {
        return None;
    }
    let users = |of: &BTreeSet<Liker>, not: &BTreeSet<Liker>| -> BTreeSet<UserId> {
        of.difference(not).map(|liker| liker.user).collect()
    };
    let (missing, extra) = (users(&wanted, &present), users(&present, &wanted));
    let moved = missing.intersection(&extra).count();
    Some(SetDifference::Likers {
        missing: missing.len() - moved,
        extra: extra.len() - moved,
        moved,
    })
}
