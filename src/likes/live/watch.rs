//! One watcher: takes marks and turns each into the state as it is when there is room for it.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::sleep;

use super::hub::Seat;
use super::reads::Reads;
use crate::domain::{ActivityId, LikeState, Look, Timestamp, UserId};

/// The pause before a read that failed is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// A state that the watcher has not seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fresh {
    /// Of which activity.
    pub activity: ActivityId,
    /// As the watcher sees it.
    pub state: LikeState,
    /// Whether Redis was away, so that it is SQL's and may miss the newest changes.
    pub degraded: bool,
}

/// Watches activities for one viewer. Bounded by their number, however long it is not asked.
pub struct Watch {
    seat: Seat,
    reads: Reads,
    viewer: Option<UserId>,
    look: Look,
    /// Activities to be told of, the longest waiting first.
    order: VecDeque<ActivityId>,
    /// Those that have been read, and not been marked since.
    read: HashMap<ActivityId, Fresh>,
    /// What was told last of each.
    told: HashMap<ActivityId, Option<Timestamp>>,
}

impl Watch {
    pub(super) fn new(seat: Seat, reads: Reads, viewer: Option<UserId>, look: Look) -> Self {
        Self {
            seat,
            reads,
            viewer,
            look,
            order: VecDeque::new(),
            read: HashMap::new(),
            told: HashMap::new(),
        }
    }

    /// The next state to tell; each activity's turn comes. None when this process ends. An activity that does
    /// not exist is passed over.
    pub async fn next(&mut self) -> Option<Fresh> {
        loop {
            if self.take_marks() {
                return None;
            }
            let Some(activity) = self.order.front().copied() else {
                self.seat.woken().await;
                continue;
            };
            if let Some(fresh) = self.read.remove(&activity) {
                self.order.pop_front();
                if fresh.degraded {
                    // To be read again when Redis is back.
                    self.order.push_back(activity);
                }
                if self.is_news(&fresh) {
                    self.told.insert(activity, fresh.state.changed_at);
                    return Some(fresh);
                }
            } else if !self.read_all().await {
                self.seat.linked().await;
                sleep(PAUSE).await;
            }
        }
    }

    /// Tells of an activity once more, a moment later: what was told of it did not reach its reader.
    pub async fn again(&mut self, activity: ActivityId) {
        self.told.remove(&activity);
        if !self.order.contains(&activity) {
            self.order.push_back(activity);
        }
        sleep(PAUSE).await;
    }

    /// Puts what has been marked in line. Whether the end has come.
    fn take_marks(&mut self) -> bool {
        let marks = self.seat.take();
        let mut marked = marks.activities;
        if marks.all {
            // Also what was told last may be wrong by now: Redis can come back older.
            self.told.clear();
            marked.extend(self.seat.activities());
        }
        for activity in marked {
            self.read.remove(&activity);
            if !self.order.contains(&activity) {
                self.order.push_back(activity);
            }
        }
        marks.closed
    }

    /// Reads all that is in line. Whether there is something to tell, or nothing left to.
    async fn read_all(&mut self) -> bool {
        let unread = self.order.iter().copied();
        let unread: Vec<_> = unread.filter(|it| !self.read.contains_key(it)).collect();
        let looks = self.reads.look(unread.clone(), self.viewer, self.look);
        let Some(mut looks) = looks.await else {
            return false;
        };
        let degraded = looks.degraded;
        let mut fresh = false;
        for activity in unread {
            let state = looks.states.remove(&activity);
            let state = state.map(|state| Fresh {
                activity,
                state,
                degraded,
            });
            match state {
                // What SQL says late is told only to those who know nothing at all.
                Some(it) if degraded && !self.is_news(&it) => {}
                Some(it) => {
                    fresh = true;
                    self.read.insert(activity, it);
                }
                None => self.order.retain(|waiting| *waiting != activity),
            }
        }
        fresh || self.order.is_empty()
    }

    fn is_news(&self, fresh: &Fresh) -> bool {
        let told = self.told.get(&fresh.activity);
        told.is_none_or(|told| fresh.state.changed_at > *told)
    }
}
