//! Events: one change of one like, on its way from Redis to SQL.

use std::fmt;
use std::str::FromStr;

use super::{ActivityId, Invalid, Timestamp, UserId};

/// The id of an entry in a partition's stream: Redis' milliseconds and a counter within one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct EventId {
    /// Milliseconds since 1970.
    pub millis: u64,
    /// Counts entries of one millisecond.
    pub sequence: u64,
}

impl EventId {
    /// What lies before every event, `0-0`.
    pub const START: Self = Self {
        millis: 0,
        sequence: 0,
    };

    /// The least id after this one.
    pub fn next(self) -> Self {
        match self.sequence.checked_add(1) {
            Some(sequence) => Self { sequence, ..self },
            None => Self {
                millis: self.millis.saturating_add(1),
                sequence: 0,
            },
        }
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.millis, self.sequence)
    }
}

impl FromStr for EventId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parts = text.split_once('-');
        let id = parts.and_then(|(millis, sequence)| {
            Some(Self {
                millis: millis.parse().ok()?,
                sequence: sequence.parse().ok()?,
            })
        });
        id.ok_or_else(|| Invalid(format!("{text:?} is not the id of an event")))
    }
}

/// A like or unlike that Redis has carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LikeEvent {
    /// Its own place in the stream.
    pub id: EventId,
    /// The event before it in the stream, by which a gap is noticed.
    pub previous: EventId,
    /// What was liked or unliked.
    pub activity: ActivityId,
    /// Who did it.
    pub user: UserId,
    /// True for a like, false for an unlike.
    pub liked: bool,
    /// The version that this change gave the set; of a like, also its time.
    pub at: Timestamp,
}

/// An entry of the stream as found: an event, or something that nobody can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEntry {
    /// A well-formed event.
    Event(LikeEvent),
    /// An entry that is not an event.
    Garbage {
        /// Its place in the stream.
        id: EventId,
        /// The event before it, where the entry says so.
        previous: Option<EventId>,
        /// Its fields and values as text, for the operator.
        payload: String,
    },
}

impl StreamEntry {
    /// The entry's place in the stream.
    pub fn id(&self) -> EventId {
        match self {
            Self::Event(event) => event.id,
            Self::Garbage { id, .. } => *id,
        }
    }

    /// The id of the entry before it, where it says so.
    pub fn previous(&self) -> Option<EventId> {
        match self {
            Self::Event(event) => Some(event.previous),
            Self::Garbage { previous, .. } => *previous,
        }
    }
}

/// An entry that could not be persisted, with the reason, kept for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// The entry's place in the stream.
    pub id: EventId,
    /// `garbage`, `activity_gone` or `user_gone`.
    pub reason: &'static str,
    /// The entry as text.
    pub payload: String,
}
