//! What happened: each operation with its beginning, end and answer, and what was done to the service.

use std::collections::{HashMap, HashSet};

/// Microseconds since the run began, on its own clock.
pub type Micros = u64;

/// What a client wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    Read,
    Toggle,
    Like,
    Unlike,
}

/// One request of one client.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Places in the cast.
    pub user: u16,
    pub activity: u16,
    pub node: u8,
    pub action: Action,
    /// The idempotency key.
    pub key: Option<u64>,
    pub start: Micros,
    pub end: Micros,
    pub outcome: Outcome,
}

/// What came of a request.
#[derive(Debug, Clone)]
pub enum Outcome {
    Done(Answer),
    /// It was not carried out, says the service, or it was never sent.
    Refused,
    /// The idempotency key belongs to another operation.
    Conflict,
    /// It may have been carried out.
    Unknown,
}

/// What was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    pub liked: bool,
    pub changed: bool,
    /// The likes of the activity right then; None where the answer says that it may lack the newest.
    pub seen: Option<Seen>,
}

/// The likes of an activity as one answer shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub liked: bool,
    pub count: i64,
    /// `likesChangedAt` in microseconds, 0 for null.
    pub version: i64,
    /// A digest of the earliest likers, where they were asked for.
    pub top: Option<u64>,
}

/// One user and one activity.
pub type Pair = (u16, u16);

/// Redis came back with less than it had acknowledged.
#[derive(Debug, Clone)]
pub struct Restore {
    /// What it acknowledged after this moment may be gone.
    pub copied: Micros,
    /// From here to there it was away.
    pub down: Micros,
    pub up: Micros,
    /// When no partition was in doubt any more.
    pub healed: Micros,
    /// By SQL's rows and the events that came back: who likes what from now on.
    pub truth: HashSet<Pair>,
    /// The sets that came back, which may be older than SQL, until they are dropped.
    pub sets: HashMap<u16, HashSet<u16>>,
    /// A worker was held still meanwhile and may have persisted events that Redis had lost.
    pub loose: bool,
}

impl Restore {
    /// Whether the truth has it that the user likes the activity.
    pub fn truth(&self, pair: Pair) -> bool {
        self.truth.contains(&pair)
    }

    /// Whether the set that came back has it so; the truth where none came back.
    pub fn set(&self, pair: Pair) -> bool {
        let set = self.sets.get(&pair.1);
        set.map_or_else(|| self.truth(pair), |set| set.contains(&pair.0))
    }
}

/// Idempotency keys that were remembered may have been forgotten.
#[derive(Debug, Clone, Copy)]
pub struct KeyLoss {
    /// Those set before are safe.
    pub since: Micros,
    pub from: Micros,
    pub to: Micros,
}

/// A fault as it was inflicted.
#[derive(Debug, Clone)]
pub struct Inflicted {
    pub name: &'static str,
    pub start: Micros,
    pub end: Micros,
}

/// All that happened.
#[derive(Debug, Default)]
pub struct Record {
    pub operations: Vec<Operation>,
    pub faults: Vec<Inflicted>,
    pub restores: Vec<Restore>,
    pub key_losses: Vec<KeyLoss>,
}
