//! Reading likes.

use std::collections::HashMap;

use super::{Likes, Looks, Result};
use crate::domain::{ActivityId, Liker, Look, Page, Slice, UserId};

impl Likes {
    /// The likes of activities, each as of one moment, in one round trip to Redis.
    ///
    /// # Errors
    /// `Unavailable` when neither Redis nor SQL can tell.
    pub async fn look(
        &self,
        activities: &[ActivityId],
        viewer: Option<UserId>,
        look: Look,
    ) -> Result<Looks> {
        let _ = (activities, viewer, look);
        todo!()
    }

    /// The same page of the likers of each activity, earliest first. Members, whether or not they still have a user row.
    ///
    /// # Errors
    /// `Unavailable` when neither Redis nor SQL can tell.
    pub async fn likers(
        &self,
        activities: &[ActivityId],
        page: &Page<Liker>,
    ) -> Result<HashMap<ActivityId, Slice<Liker>>> {
        let _ = (activities, page);
        todo!()
    }
}
