//! Who watches which activity, and what they have not looked at yet.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::gauge;
use tokio::sync::{Notify, watch};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use super::ticks::Ticks;
use crate::domain::ActivityId;
use crate::telemetry;

/// The most pairs of watcher and activity. Each takes some 100 bytes, and a full hub thus 100 MB.
const MOST_WATCHED: usize = 1_000_000;
/// How many watchers are woken before other work gets a turn: each then reads and answers.
const WOKEN_AT_ONCE: usize = 64;

/// The watchers of this process.
#[derive(Default)]
pub struct Hub {
    watched: Mutex<Watched>,
    changed: Mutex<Changed>,
    woken: Notify,
    linked: watch::Sender<bool>,
    numbers: AtomicU64,
    closed: AtomicBool,
}

#[derive(Default)]
struct Watched {
    seats: HashMap<ActivityId, HashMap<u64, Arc<Inbox>>>,
    pairs: usize,
}

#[derive(Default)]
struct Changed {
    activities: HashSet<ActivityId>,
    /// Whether the link was made anew, so that anything may have changed.
    all: bool,
}

impl Hub {
    /// A place among the watchers; None if all are taken.
    pub fn enter(self: &Arc<Self>, activities: &[ActivityId]) -> Option<Seat> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let inbox = Arc::new(Inbox::default());
        inbox.put(activities.iter().copied());
        let mut watched = lock(&self.watched);
        if watched.pairs + activities.len() > MOST_WATCHED || self.closed.load(Ordering::Relaxed) {
            return None;
        }
        for &activity in activities {
            let seats = watched.seats.entry(activity).or_default();
            let taken = seats.insert(number, Arc::clone(&inbox));
            watched.pairs += usize::from(taken.is_none());
        }
        gauge!(telemetry::LIVE_WATCHERS).increment(1);
        Some(Seat {
            number,
            inbox,
            activities: activities.to_vec(),
            hub: Arc::clone(self),
        })
    }

    /// Notes a change; cheap, as it is called for each.
    pub fn changed(&self, activity: ActivityId) {
        if lock(&self.watched).seats.contains_key(&activity) {
            lock(&self.changed).activities.insert(activity);
            self.woken.notify_one();
        }
    }

    /// The link stands, and nobody knows what was missed.
    pub fn linked(&self) {
        self.linked.send_replace(true);
        lock(&self.changed).all = true;
        self.woken.notify_one();
    }

    /// The link is broken.
    pub fn unlinked(&self) {
        self.linked.send_replace(false);
    }

    /// Takes no more watchers, and wakes those who are there.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        for inbox in lock(&self.watched).all() {
            inbox.close();
        }
    }

    /// Tells watchers of changes, each activity at its pace.
    pub async fn run(&self) {
        let mut ticks = Ticks::default();
        loop {
            let changed = std::mem::take(&mut *lock(&self.changed));
            if changed.all {
                // A guard must not live across the pauses below.
                let inboxes = lock(&self.watched).all();
                in_turns(inboxes, Inbox::put_all).await;
            }
            let now = Instant::now();
            let mut due = ticks.due(now);
            let fresh = changed.activities.into_iter();
            due.extend(fresh.filter(|activity| ticks.changed(*activity)));
            for activity in due {
                let inboxes = lock(&self.watched).of(activity);
                ticks.told(activity, inboxes.len(), now);
                in_turns(inboxes, |inbox| inbox.put([activity])).await;
            }
            let next = ticks.next();
            tokio::select! {
                () = self.woken.notified() => {}
                () = sleep_until(next.unwrap_or(now)), if next.is_some() => {}
            }
        }
    }
}

impl Watched {
    fn of(&self, activity: ActivityId) -> Vec<Arc<Inbox>> {
        let seats = self.seats.get(&activity);
        seats.map_or_else(Vec::new, |seats| seats.values().cloned().collect())
    }

    fn all(&self) -> Vec<Arc<Inbox>> {
        let seats = self.seats.values().flatten();
        let inboxes: HashMap<u64, &Arc<Inbox>> =
            seats.map(|(number, inbox)| (*number, inbox)).collect();
        inboxes.into_values().cloned().collect()
    }
}

/// Wakes many without holding up everybody else.
async fn in_turns(inboxes: Vec<Arc<Inbox>>, mut wake: impl FnMut(&Inbox)) {
    for some in inboxes.chunks(WOKEN_AT_ONCE) {
        for inbox in some {
            wake(inbox);
        }
        yield_now().await;
    }
}

/// What one watcher has not looked at yet: marks, not messages.
#[derive(Default)]
struct Inbox {
    marks: Mutex<Marks>,
    woken: Notify,
}

/// What a watcher takes out of its inbox.
#[derive(Debug, Default)]
pub struct Marks {
    /// The activities that have changed, in the order of their first mark.
    pub activities: Vec<ActivityId>,
    /// Whether anything may have changed unheard.
    pub all: bool,
    /// Whether nothing more will come.
    pub closed: bool,
}

impl Inbox {
    fn put(&self, activities: impl IntoIterator<Item = ActivityId>) {
        let mut marks = lock(&self.marks);
        for activity in activities {
            // At most a hundred, so that a list is the fastest set.
            if !marks.activities.contains(&activity) {
                marks.activities.push(activity);
            }
        }
        self.woken.notify_one();
    }

    fn put_all(&self) {
        lock(&self.marks).all = true;
        self.woken.notify_one();
    }

    fn close(&self) {
        lock(&self.marks).closed = true;
        self.woken.notify_one();
    }
}

/// A place among the watchers, given up when it is dropped.
pub struct Seat {
    number: u64,
    inbox: Arc<Inbox>,
    activities: Vec<ActivityId>,
    hub: Arc<Hub>,
}

impl Seat {
    /// What is watched.
    pub fn activities(&self) -> &[ActivityId] {
        &self.activities
    }

    /// What has been marked since the last time.
    pub fn take(&self) -> Marks {
        let mut marks = lock(&self.inbox.marks);
        let closed = marks.closed;
        Marks {
            closed,
            ..std::mem::replace(
                &mut *marks,
                Marks {
                    closed,
                    ..Marks::default()
                },
            )
        }
    }

    /// Returns when there may be something to take.
    pub async fn woken(&self) {
        self.inbox.woken.notified().await;
    }

    /// Returns when the link stands.
    pub async fn linked(&self) {
        let mut linked = self.hub.linked.subscribe();
        // The hub, which is kept here, owns the other end.
        drop(linked.wait_for(|linked| *linked).await);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut guard = lock(&self.hub.watched);
        let watched = &mut *guard;
        for activity in &self.activities {
            let Some(seats) = watched.seats.get_mut(activity) else {
                continue;
            };
            watched.pairs -= usize::from(seats.remove(&self.number).is_some());
            if seats.is_empty() {
                watched.seats.remove(activity);
            }
        }
        gauge!(telemetry::LIVE_WATCHERS).decrement(1);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
