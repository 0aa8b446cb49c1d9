//! Likes as a request sees them: where Redis and SQL meet.

mod change;
mod error;
mod feed;
mod read;

use std::collections::HashMap;
use std::sync::Arc;

use crate::domain::{ActivityId, LikeState};
use crate::store::Store;
pub use error::{Error, Outcome, Result};

/// Answers everything that GraphQL asks. Cheap to clone.
#[derive(Clone)]
pub struct Likes {
    store: Arc<dyn Store>,
}

/// The likes of several activities.
#[derive(Debug, Clone, Default)]
pub struct Looks {
    /// By activity; an activity that does not exist is left out.
    pub states: HashMap<ActivityId, LikeState>,
    /// Whether Redis was away, so that these are SQL's and may miss the newest changes.
    pub degraded: bool,
}
