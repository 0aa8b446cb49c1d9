//! One history: clients, two rebuilders and two workers on one Redis and one SQL, step by step.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use likewise::cache::{Cache, Changed, Options};
use likewise::domain::{
    ActivityId, Change, EventId, Look, Operation, Partition, Partitions, Timestamp, UserId,
};
use likewise::likes::rebuild::{Rebuilder, Rebuilt};
use likewise::worker::{Options as WorkerOptions, Place, Step as Outcome, Worker};

use super::data::{Data, Value};
use super::scripts::Guard;
use super::sql::Likes;
use super::truth;
use super::wire::{Fate, Wire};

const PARTITION: Partition = Partition(0);
/// Events in a batch, small so that there are many batches.
const BATCH: usize = 2;
/// Steps after which whoever is at work must have finished.
const LONG: usize = 400;

/// What can happen next.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    Change(u8, u8),
    /// One of the rebuilders begins with an activity, or sends so many requests.
    Rebuild(u8, u8, u8),
    /// The same for a worker.
    Work(u8, u8),
    /// The next request of a rebuilder or worker fails.
    Fail(u8, Fate),
    Crash(u8),
    /// A key whose time may be up goes.
    Expire(u8),
    /// A set goes, by eviction or by hand.
    Evict(u8),
    /// An unread event goes, by hand.
    Vanish(u8),
    Copy,
    /// Redis comes back as the copy, once.
    Restore,
    /// Everybody finishes.
    Rest,
}

enum Task {
    Rebuild(Pin<Box<dyn Future<Output = ()>>>),
    Work(Pin<Box<dyn Future<Output = (Place, Option<Outcome>)>>>),
}

/// A rebuilder or a worker.
struct Actor {
    /// Of a worker.
    place: Option<Place>,
    task: Option<Task>,
}

/// Everything in one history.
pub struct World {
    pub wire: Wire,
    cache: Arc<Cache>,
    rebuilder: Arc<Rebuilder>,
    worker: Arc<Worker>,
    actors: [Actor; 4],
    copy: Option<Data>,
    restored: bool,
    /// What users did, as long as Redis forgot nothing.
    pub wanted: Option<BTreeMap<(ActivityId, UserId), bool>>,
}

impl World {
    pub fn new(without: Option<Guard>) -> Self {
        let wire = Wire::default();
        {
            let mut state = wire.state();
            state.without = without;
            state.now = 1_000_000;
            for activity in activities() {
                state.rows.activities.insert(activity, Likes::default());
            }
            // One liker from the start, read by nobody yet.
            let first = state.rows.activities.get_mut(&activity(0)).unwrap();
            first.likers.insert(user(0), Timestamp(7));
            (first.count, first.changed_at) = (1, Some(Timestamp(7)));
        }
        let options = Options {
            url: String::new(),
            prefix: "likes".to_owned(),
            partitions: Partitions(1.try_into().unwrap()),
            ttl: Duration::from_mins(1),
            idempotency_ttl: Duration::from_mins(1),
            max_backlog: 1000,
            connections: 1,
            timeout: Duration::from_secs(1),
            fsync: false,
        };
        let cache = Arc::new(Cache::over(Box::new(wire.clone()), options));
        let store = Arc::new(wire.clone());
        let actor = |place| Actor { place, task: None };
        let place = || Some(Place::new(PARTITION));
        Self {
            rebuilder: Arc::new(Rebuilder::new(store.clone(), Arc::clone(&cache))),
            worker: Arc::new(Worker::new(
                store,
                Arc::clone(&cache),
                WorkerOptions { batch: BATCH },
            )),
            actors: [actor(None), actor(None), actor(place()), actor(place())],
            wire,
            cache,
            copy: None,
            restored: false,
            wanted: Some(BTreeMap::from([((activity(0), user(0)), true)])),
        }
    }

    /// Lets a step happen.
    pub fn step(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Change(which, who) => self.change(activity(which), user(who)),
            Step::Rebuild(who, which, requests) => {
                for _ in 0..=requests % 6 {
                    self.advance(usize::from(who % 2), activity(which));
                }
            }
            Step::Work(who, requests) => {
                for _ in 0..=requests % 8 {
                    self.advance(usize::from(2 + who % 2), activity(0));
                }
            }
            Step::Fail(who, fate) => {
                self.wire.state().fate = fate;
                self.advance(usize::from(who % 4), activity(0));
                self.wire.state().fate = Fate::Answered;
            }
            Step::Crash(who) => {
                let actor = &mut self.actors[usize::from(who % 4)];
                actor.task = None;
                actor.place = actor.place.is_some().then(|| Place::new(PARTITION));
            }
            Step::Expire(number) => self.remove(number, |_, expires| expires),
            Step::Evict(number) => self.remove(number, |key, _| key.contains(":set:")),
            Step::Vanish(number) => self.vanish(number),
            Step::Copy if self.copy.is_none() => self.copy = Some(self.wire.state().redis.clone()),
            Step::Restore if !self.restored => {
                if let Some(copy) = self.copy.clone() {
                    self.restored = true;
                    self.wire.state().redis = copy;
                    self.wanted = None;
                }
            }
            Step::Copy | Step::Restore => {}
            Step::Rest => return self.rest(),
        }
        truth::hold(self)
    }

    fn change(&mut self, activity: ActivityId, user: UserId) {
        self.wire.state().now += 1000;
        let change = Change {
            user,
            activity,
            operation: Operation::Toggle,
            key: None,
            look: Look::default(),
        };
        let changed = finished(Box::pin(self.cache.change(&change))).unwrap();
        if let (Changed::Done { answer, .. }, Some(wanted)) = (changed, &mut self.wanted) {
            wanted.insert((activity, user), answer.liked);
        }
    }

    /// Sends one request of a rebuilder or a worker; begins anew if it has finished.
    fn advance(&mut self, who: usize, activity: ActivityId) {
        let actor = &mut self.actors[who];
        let task = actor.task.get_or_insert_with(|| {
            if let Some(mut place) = actor.place {
                let worker = Arc::clone(&self.worker);
                return Task::Work(Box::pin(async move {
                    let outcome = worker.step(&mut place).await;
                    (place, outcome.ok())
                }));
            }
            let rebuilder = Arc::clone(&self.rebuilder);
            Task::Rebuild(Box::pin(async move {
                drop(rebuilder.attempt(activity).await);
            }))
        });
        let mut context = Context::from_waker(Waker::noop());
        match task {
            Task::Rebuild(task) => {
                if task.as_mut().poll(&mut context).is_ready() {
                    actor.task = None;
                }
            }
            Task::Work(task) => {
                if let Poll::Ready((place, _)) = task.as_mut().poll(&mut context) {
                    (actor.place, actor.task) = (Some(place), None);
                }
            }
        }
    }

    fn remove(&mut self, number: u8, may_go: impl Fn(&str, bool) -> bool) {
        let keys = &mut self.wire.state().redis.keys;
        let mut candidates = keys
            .iter()
            .filter(|(key, found)| may_go(key, found.expires));
        let count = candidates.clone().count();
        if count > 0 {
            let (key, _) = candidates.nth(usize::from(number) % count).unwrap();
            let key = key.clone();
            keys.remove(&key);
        }
    }

    /// Afterwards Redis comes back no more: an event that vanishes and returns while a worker makes sure
    /// that it is gone would be passed over.
    fn vanish(&mut self, number: u8) {
        let mut state = self.wire.state();
        let checkpoint = state.rows.checkpoint;
        let entries = stream(&mut state.redis);
        if let Some((entries, _)) = entries {
            let unread = entries.iter().filter(|(id, _)| *id > checkpoint).count();
            if unread > 0 {
                let place = entries.len() - 1 - usize::from(number) % unread;
                entries.remove(place);
                (self.wanted, self.restored) = (None, true);
            }
        }
    }

    /// Everybody finishes, then everything must be equal.
    fn rest(&mut self) -> Result<(), String> {
        for who in 0..4 {
            let mut requests = 0;
            while self.actors[who].task.is_some() {
                self.advance(who, activity(0));
                truth::hold(self)?;
                requests += 1;
                if requests > LONG {
                    return Err(format!("{who} does not finish"));
                }
            }
        }
        let mut idle = 0;
        for round in 0.. {
            let mut place = self.actors[2 + round % 2].place.unwrap();
            let outcome = finished(Box::pin(self.worker.step(&mut place)));
            self.actors[2 + round % 2].place = Some(place);
            truth::hold(self)?;
            idle = match outcome {
                Ok(Outcome::Idle) => idle + 1,
                _ => 0,
            };
            if idle == 3 {
                break;
            }
            if round > LONG {
                return Err(format!("the workers never rest: {outcome:?}"));
            }
        }
        truth::at_rest(self)?;
        for activity in activities() {
            self.wire.state().redis.keys.retain(|key, _| {
                key.contains(":set:") || !key.contains(":lease:") && !key.contains(":staging:")
            });
            match finished(Box::pin(self.rebuilder.attempt(activity))) {
                Ok(Rebuilt::Ready) => truth::hold(self)?,
                other => return Err(format!("{activity} cannot be rebuilt: {other:?}")),
            }
        }
        truth::at_rest(self)
    }
}

/// Runs a task to its end.
fn finished<T>(mut task: Pin<Box<impl Future<Output = T> + ?Sized>>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(done) = task.as_mut().poll(&mut context) {
            return done;
        }
    }
}

/// The stream and its last id, once there is one.
pub fn stream(redis: &mut Data) -> Option<(&mut super::data::Entries, EventId)> {
    match &mut redis.keys.get_mut("{likes:0}:events")?.value {
        Value::Stream { entries, last } => Some((entries, *last)),
        other => panic!("{other:?} is no stream"),
    }
}

fn activities() -> [ActivityId; 2] {
    [activity(0), activity(1)]
}

fn activity(number: u8) -> ActivityId {
    ActivityId::new(i64::from(number % 2) + 1).unwrap()
}

fn user(number: u8) -> UserId {
    UserId::new(i64::from(number % 2) + 1).unwrap()
}
