//! A client: it likes, unlikes, toggles and reads, and tries again as a good client does.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::record::{Action, Operation, Outcome};
use crate::world::{Cast, World};

/// Users that belong to one client alone.
pub const OWN_USERS: u16 = 4;
/// How often one change is tried.
const TRIES: usize = 8;
/// The pause before another try, in milliseconds.
const PAUSE: (u64, u64) = (30, 400);
/// The share of the activities at place `n` goes with `1 / n^SKEW`.
const SKEW: f64 = 1.1;

/// How many users so many clients need: each has some of its own, two share one, and the last probes.
pub fn users(clients: u16) -> u16 {
    clients * OWN_USERS + clients.div_ceil(2) + 1
}

/// One client.
pub struct Client {
    number: u16,
    random: StdRng,
    shared_user: u16,
    next_key: u64,
    world: Arc<World>,
    cast: Arc<Cast>,
    done: Vec<Operation>,
}

/// A wish for one change.
#[derive(Clone, Copy)]
struct Wish {
    user: u16,
    activity: u16,
    action: Action,
    key: Option<u64>,
}

impl Client {
    pub fn new(number: u16, clients: u16, seed: u64, world: Arc<World>, cast: Arc<Cast>) -> Self {
        Self {
            number,
            random: StdRng::seed_from_u64(seed ^ ((u64::from(number) + 1) << 40)),
            shared_user: clients * OWN_USERS + number / 2,
            next_key: u64::from(number) << 40,
            world,
            cast,
            done: Vec::new(),
        }
    }

    /// Acts once a period until told to stop; what it did.
    pub async fn run(mut self, period: Duration, stop: CancellationToken) -> Vec<Operation> {
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !stop.is_cancelled() {
            ticks.tick().await;
            let user = if self.random.random_bool(0.2) {
                self.shared_user
            } else {
                self.number * OWN_USERS + self.random.random_range(0..OWN_USERS)
            };
            let activity = self.activity();
            if self.random.random_bool(0.4) {
                self.read(user, activity).await;
            } else {
                self.change(user, activity, &stop).await;
            }
        }
        self.done
    }

    /// The first ones are hot.
    fn activity(&mut self) -> u16 {
        let count = f64::from(u16::try_from(self.cast.activities.len()).unwrap());
        // The inverse of the continuous distribution is near enough.
        let (low, high) = (1.0, (count + 1.0).powf(1.0 - SKEW));
        let place = (low + self.random.random::<f64>() * (high - low)).powf(1.0 / (1.0 - SKEW));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to the places there are"
        )]
        let place = (place - 1.0).clamp(0.0, count - 1.0) as u16;
        place
    }

    async fn change(&mut self, user: u16, activity: u16, stop: &CancellationToken) {
        let action = match self.random.random_range(0..10) {
            0..=5 => Action::Toggle,
            6..=7 => Action::Like,
            _ => Action::Unlike,
        };
        let key = self.random.random_bool(0.65).then(|| {
            self.next_key += 1;
            self.next_key
        });
        let wish = Wish {
            user,
            activity,
            action,
            key,
        };
        for _ in 0..TRIES {
            match self.attempt(wish).await {
                Outcome::Done(_) if key.is_some() => return self.play_tricks(wish).await,
                Outcome::Done(_) | Outcome::Conflict => return,
                // Nobody can tell whether another try would flip back: look instead.
                Outcome::Unknown if key.is_none() && action == Action::Toggle => {
                    return self.read(user, activity).await;
                }
                Outcome::Refused | Outcome::Unknown => {}
            }
            if stop.is_cancelled() {
                return;
            }
            self.pause(PAUSE.0, PAUSE.1).await;
        }
    }

    /// Sends what was answered already again, or uses its key for something else.
    async fn play_tricks(&mut self, wish: Wish) {
        if self.random.random_bool(0.08) {
            self.pause(0, 2_000).await;
            self.attempt(wish).await;
        } else if self.random.random_bool(0.02) {
            let action = match wish.action {
                Action::Toggle | Action::Read => Action::Like,
                Action::Like => Action::Unlike,
                Action::Unlike => Action::Toggle,
            };
            self.attempt(Wish { action, ..wish }).await;
        }
    }

    async fn attempt(&mut self, wish: Wish) -> Outcome {
        let node = self.random.random_range(crate::plan::NODES);
        let top = self.random.random_bool(0.2);
        let start = self.world.clock.now();
        let user = &self.cast.users[usize::from(wish.user)];
        let activity = &self.cast.activities[usize::from(wish.activity)];
        let api = &self.world.api;
        let outcome = match wish.action {
            Action::Read => api.read(node, user, activity, top).await,
            action => {
                api.change(node, user, action, activity, wish.key, top)
                    .await
            }
        };
        self.done.push(Operation {
            user: wish.user,
            activity: wish.activity,
            node: u8::try_from(node).unwrap(),
            action: wish.action,
            key: wish.key,
            start,
            end: self.world.clock.now(),
            outcome: outcome.clone(),
        });
        outcome
    }

    async fn read(&mut self, user: u16, activity: u16) {
        let wish = Wish {
            user,
            activity,
            action: Action::Read,
            key: None,
        };
        self.attempt(wish).await;
    }

    async fn pause(&mut self, least: u64, most: u64) {
        let pause = self.random.random_range(least..=most);
        sleep(Duration::from_millis(pause)).await;
    }
}
