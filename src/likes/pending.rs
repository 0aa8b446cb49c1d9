//! Likes of activities whose set has gone while events of it still wait: SQL's rows with those events
//! laid over them. Rare (an eviction, an expiry set by hand), so one partition after the other will do.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tokio::time::sleep;

use super::{Likes, Result};
use crate::domain::{
    ActivityId, EventId, LikeEvent, LikeState, Liker, Page, Partition, Slice, StreamEntry, Take,
    UserId,
};
use crate::store::{LookQuery, RowsQuery, Snapshot, Store};

/// Entries of a stream in one command.
const PAGE: usize = 1000;
/// How often to begin anew because the worker has moved the checkpoint meanwhile, and the pause before.
const ATTEMPTS: usize = 5;
const PAUSE: Duration = Duration::from_millis(20);

/// The last event of each user, by activity.
type Events = HashMap<ActivityId, BTreeMap<UserId, LikeEvent>>;

impl Likes {
    /// The likes of the activities; those of a partition that gives no consistent view are left out.
    pub(super) async fn pending_looks(
        &self,
        activities: &[ActivityId],
        query: &LookQuery<'_>,
    ) -> Result<HashMap<ActivityId, LikeState>> {
        let read = async |store: &dyn Store, rows: RowsQuery<'_>| {
            let query = LookQuery {
                rows,
                ..query.clone()
            };
            store.look(&query).await
        };
        let overlay = |state, events: &BTreeMap<_, _>| overlaid(state, events, query);
        self.overlay(activities, read, overlay).await
    }

    /// The same page of the likers of each activity.
    pub(super) async fn pending_likers(
        &self,
        activities: &[ActivityId],
        page: &Page<Liker>,
    ) -> Result<HashMap<ActivityId, Slice<Liker>>> {
        let wider = page.take.limit() + 1;
        let wide = Page {
            take: if page.take.is_first() {
                Take::First(wider)
            } else {
                Take::Last(wider)
            },
            ..*page
        };
        let read = async |store: &dyn Store, rows: RowsQuery<'_>| store.likers(&rows, &wide).await;
        let overlay = |slice: Slice<Liker>, events: &BTreeMap<_, _>| {
            let mut merged = slice.items;
            merged.extend(likes(events).into_iter().filter(|liker| {
                page.after.is_none_or(|after| *liker > after)
                    && page.before.is_none_or(|before| *liker < before)
            }));
            merged.sort_unstable();
            if !page.take.is_first() {
                merged.reverse();
            }
            merged.truncate(wider);
            Slice::of(page, merged)
        };
        self.overlay(activities, read, overlay).await
    }

    async fn overlay<T>(
        &self,
        activities: &[ActivityId],
        read: impl AsyncFn(&dyn Store, RowsQuery<'_>) -> crate::store::Result<Snapshot<T>>,
        overlay: impl Fn(T, &BTreeMap<UserId, LikeEvent>) -> T,
    ) -> Result<HashMap<ActivityId, T>> {
        let mut shares: BTreeMap<Partition, Vec<ActivityId>> = BTreeMap::new();
        for &activity in activities {
            let partition = self.cache.partitions().of(activity);
            shares.entry(partition).or_default().push(activity);
        }
        let mut found = HashMap::with_capacity(activities.len());
        for (partition, share) in shares {
            for attempt in 0..ATTEMPTS {
                if attempt > 0 {
                    sleep(PAUSE).await;
                }
                let Some((checkpoint, events)) = self.unpersisted(partition, &share).await? else {
                    continue;
                };
                let except: Vec<_> = events
                    .iter()
                    .flat_map(|(activity, users)| users.keys().map(|user| (*activity, *user)))
                    .collect();
                let rows = RowsQuery {
                    activities: &share,
                    except: &except,
                    partitions: &[partition],
                };
                let snapshot = read(&*self.store, rows).await?;
                if snapshot.checkpoints.get(&partition) != Some(&checkpoint) {
                    continue;
                }
                let none = BTreeMap::new();
                found.extend(snapshot.found.into_iter().map(|(activity, rows)| {
                    (
                        activity,
                        overlay(rows, events.get(&activity).unwrap_or(&none)),
                    )
                }));
                break;
            }
        }
        Ok(found)
    }

    /// A checkpoint and the events of these activities after it; None if the worker got in between.
    async fn unpersisted(
        &self,
        partition: Partition,
        activities: &[ActivityId],
    ) -> Result<Option<(EventId, Events)>> {
        let checkpoint = self.store.checkpoint(partition).await?;
        let mut events = Events::new();
        let mut last = checkpoint;
        loop {
            let entries = self.cache.entries(partition, last, PAGE).await?;
            if entries
                .first()
                .is_some_and(|first| first.previous() != Some(last))
            {
                return Ok(None);
            }
            let full = entries.len() == PAGE;
            for entry in entries {
                last = entry.id();
                match entry {
                    StreamEntry::Event(event) if activities.contains(&event.activity) => {
                        events
                            .entry(event.activity)
                            .or_default()
                            .insert(event.user, event);
                    }
                    _ => {}
                }
            }
            if !full {
                return Ok(Some((checkpoint, events)));
            }
        }
    }
}

/// The likes among the events, earliest first.
fn likes(events: &BTreeMap<UserId, LikeEvent>) -> Vec<Liker> {
    let mut likes: Vec<_> = events
        .values()
        .filter(|event| event.liked)
        .map(|event| Liker {
            at: event.at,
            user: event.user,
        })
        .collect();
    likes.sort_unstable();
    likes
}

/// Lays events over the state of the rows of all other users. Versions rise, so that an unpersisted
/// like comes after every row.
fn overlaid(
    mut rows: LikeState,
    events: &BTreeMap<UserId, LikeEvent>,
    query: &LookQuery<'_>,
) -> LikeState {
    let likes = likes(events);
    if let Some(event) = query.viewer.and_then(|viewer| events.get(&viewer)) {
        rows.liked = event.liked;
        let place = likes.iter().position(|like| like.user == event.user);
        let place = place
            .filter(|_| query.look.rank)
            .and_then(|place| i64::try_from(place).ok());
        rows.rank = place.map(|place| rows.count + place + 1);
    }
    rows.count += i64::try_from(likes.len()).unwrap_or(i64::MAX);
    rows.changed_at = rows
        .changed_at
        .max(events.values().map(|event| event.at).max());
    rows.top.extend(likes);
    rows.top.sort_unstable();
    rows.top.truncate(query.look.top);
    rows
}
