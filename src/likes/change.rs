//! Changing a like.

use super::{Likes, Result};
use crate::domain::{Change, ChangeAnswer};

impl Likes {
    /// Likes, unlikes or toggles, and answers the state right after.
    ///
    /// # Errors
    /// `NotFound` for an unknown activity, `Conflict` for a reused idempotency key, `Unavailable` with the outcome.
    pub async fn change(&self, change: &Change) -> Result<ChangeAnswer> {
        let _ = change;
        todo!()
    }
}
