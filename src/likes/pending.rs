//! Likes of activities whose set has gone while events of it still wait: SQL's rows with those events
//! laid over them. Rare (an eviction, an expiry set by hand), so one partition after the other will do.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tokio::time::sleep;

use super::{Likes, Result};
use crate::domain::{
    ActivityId, EventId, LikeEvent, LikeState, Liker, Look, Page, Partition, Slice, StreamEntry,
    Take, UserId,
};
use crate::store::{self, LookQuery, RowsQuery, Snapshot, Store};

/// Entries of a stream in one command.
const PAGE: usize = 1000;
/// How often to begin anew because the worker has moved the checkpoint meanwhile, and the pause before.
const ATTEMPTS: usize = 5;
const PAUSE: Duration = Duration::from_millis(20);

/// The last event of each user, by activity.
type Events = HashMap<ActivityId, BTreeMap<UserId, LikeEvent>>;

/// A question about likes: how to ask SQL about the rows, and how to lay events over the answer.
trait Question: Sync {
    /// The answer for one activity.
    type Answer: Send;

    /// Asks SQL.
    fn ask(
        &self,
        store: &dyn Store,
        rows: RowsQuery<'_>,
    ) -> impl Future<Output = store::Result<Snapshot<Self::Answer>>> + Send;

    /// Lays the last event of each user over the rows of all others.
    fn overlay(&self, rows: Self::Answer, events: &BTreeMap<UserId, LikeEvent>) -> Self::Answer;
}

impl Likes {
    /// The likes of the activities; those of a partition that gives no consistent view are left out.
    pub(super) async fn pending_looks(
        &self,
        activities: &[ActivityId],
        question: LookQuestion,
    ) -> Result<HashMap<ActivityId, LikeState>> {
        self.overlay(activities, &question).await
    }

    /// The same page of the likers of each activity.
    pub(super) async fn pending_likers(
        &self,
        activities: &[ActivityId],
        page: &Page<Liker>,
    ) -> Result<HashMap<ActivityId, Slice<Liker>>> {
        self.overlay(activities, &PageQuestion(page)).await
    }

    async fn overlay<Q: Question>(
        &self,
        activities: &[ActivityId],
        question: &Q,
    ) -> Result<HashMap<ActivityId, Q::Answer>> {
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
                let snapshot = question.ask(&*self.store, rows).await?;
                if snapshot.checkpoints.get(&partition) != Some(&checkpoint) {
                    continue;
                }
                let none = BTreeMap::new();
                for (activity, rows) in snapshot.found {
                    let events = events.get(&activity).unwrap_or(&none);
                    found.insert(activity, question.overlay(rows, events));
                }
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

/// What the likes of activities are for a viewer.
#[derive(Debug, Clone, Copy)]
pub(super) struct LookQuestion {
    pub viewer: Option<UserId>,
    pub look: Look,
}

impl Question for LookQuestion {
    type Answer = LikeState;

    async fn ask(
        &self,
        store: &dyn Store,
        rows: RowsQuery<'_>,
    ) -> store::Result<Snapshot<LikeState>> {
        let activities = rows.activities.iter();
        let viewers = activities.filter_map(|activity| Some((*activity, self.viewer?)));
        let viewers: Vec<_> = viewers.collect();
        let query = LookQuery {
            rows,
            viewers: &viewers,
            look: self.look,
        };
        let Snapshot { found, checkpoints } = store.look(&query).await?;
        let found = found.into_iter();
        let found = found.map(|(activity, views)| (activity, views.of(self.viewer)));
        Ok(Snapshot {
            found: found.collect(),
            checkpoints,
        })
    }

    /// Versions rise, so that an unpersisted like comes after every row.
    fn overlay(&self, mut rows: LikeState, events: &BTreeMap<UserId, LikeEvent>) -> LikeState {
        let Self { viewer, look } = *self;
        let likes = likes(events);
        if let Some(event) = viewer.and_then(|viewer| events.get(&viewer)) {
            rows.liked = event.liked;
            let place = likes.iter().position(|like| like.user == event.user);
            let place = place.filter(|_| look.rank);
            let place = place.and_then(|place| i64::try_from(place).ok());
            rows.rank = place.map(|place| rows.count + place + 1);
        }
        rows.count += i64::try_from(likes.len()).unwrap_or(i64::MAX);
        let newest = events.values().map(|event| event.at).max();
        rows.changed_at = rows.changed_at.max(newest);
        rows.top.extend(likes);
        rows.top.sort_unstable();
        rows.top.truncate(look.top);
        rows
    }
}

struct PageQuestion<'a>(&'a Page<Liker>);

impl PageQuestion<'_> {
    /// One more than the page takes, as every question for a page asks for.
    fn wide(&self) -> usize {
        self.0.take.limit() + 1
    }
}

impl Question for PageQuestion<'_> {
    type Answer = Slice<Liker>;

    async fn ask(
        &self,
        store: &dyn Store,
        rows: RowsQuery<'_>,
    ) -> store::Result<Snapshot<Slice<Liker>>> {
        let take = if self.0.take.is_first() {
            Take::First(self.wide())
        } else {
            Take::Last(self.wide())
        };
        let wide = Page { take, ..*self.0 };
        store.likers(&rows, &wide).await
    }

    fn overlay(&self, rows: Slice<Liker>, events: &BTreeMap<UserId, LikeEvent>) -> Slice<Liker> {
        let Page {
            take,
            after,
            before,
        } = self.0;
        let mut merged = rows.items;
        let mut likes = likes(events);
        likes.retain(|liker| {
            after.is_none_or(|after| *liker > after) && before.is_none_or(|before| *liker < before)
        });
        merged.extend(likes);
        merged.sort_unstable();
        if !take.is_first() {
            merged.reverse();
        }
        merged.truncate(self.wide());
        Slice::of(self.0, merged)
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
