//! The words of the service, and their strict parsing. No I/O.

mod caller;
mod event;
mod identity;
mod ids;
mod like;
mod page;
mod rows;
mod time;

pub use caller::{Caller, Cost};
pub use event::{DeadLetter, EventId, LikeEvent, StreamEntry};
pub use identity::{IdempotencyKey, Identity, Subject};
pub use ids::{ActivityId, Partition, Partitions, UserId};
pub use like::{Change, ChangeAnswer, LikeState, Liker, Look, Operation, Views};
pub use page::{FeedPlace, LikedPlace, Page, Slice, Take};
pub use rows::{Activity, ActivityOrder, LikedActivity, NewActivity, User};
pub use time::Timestamp;

/// A text that is not what it should be. The message names what was wrong and is fit for a client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub String);
