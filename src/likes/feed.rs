//! Users and activities, around the likes.

use std::collections::HashMap;
use std::error::Error as StdError;

use super::{Error, Likes, Result};
use crate::domain::{
    Activity, ActivityId, ActivityOrder, FeedPlace, Identity, LikedActivity, LikedPlace,
    NewActivity, Page, Slice, Subject, User, UserId,
};
use crate::store::Deletion;

impl Likes {
    /// The user whom a subject names, if there is one yet. Known ones cost no look-up.
    ///
    /// # Errors
    /// `Unavailable` when SQL is away.
    pub async fn user_of(&self, subject: &Subject) -> Result<Option<UserId>> {
        if let Some(user) = self.users.get(subject).await {
            return Ok(Some(user));
        }
        let user = self.store.user_of(subject).await?;
        if let Some(user) = user {
            self.users.insert(subject.clone(), user).await;
        }
        Ok(user)
    }

    /// The user whom an identity names, made if there is none yet.
    ///
    /// # Errors
    /// `Unavailable` when SQL is away.
    pub async fn ensure_user(&self, identity: &Identity) -> Result<UserId> {
        if let Some(user) = self.users.get(&identity.subject).await {
            return Ok(user);
        }
        let user = self.store.ensure_user(identity).await?;
        self.users.insert(identity.subject.clone(), user).await;
        Ok(user)
    }

    /// Users by key; those without a row are left out.
    ///
    /// # Errors
    /// `Unavailable` when SQL is away.
    pub async fn users(&self, ids: &[UserId]) -> Result<HashMap<UserId, User>> {
        match &self.rows {
            Some(rows) => {
                rows.users
                    .get(ids, async |ids| self.sql.users.get((), &ids).await)
                    .await
            }
            None => self.sql.users.get((), ids).await,
        }
    }

    /// Activities by key; those without a row are left out.
    ///
    /// # Errors
    /// `Unavailable` when SQL is away.
    pub async fn activities(&self, ids: &[ActivityId]) -> Result<HashMap<ActivityId, Activity>> {
        match &self.rows {
            Some(rows) => {
                rows.activities
                    .get(ids, async |ids| self.sql.activities.get((), &ids).await)
                    .await
            }
            None => self.sql.activities.get((), ids).await,
        }
    }

    /// A page of all activities.
    ///
    /// # Errors
    /// `Unavailable` when SQL is away.
    pub async fn feed(
        &self,
        order: ActivityOrder,
        page: &Page<FeedPlace>,
    ) -> Result<Slice<Activity>> {
        Ok(self.store.feed(order, page).await?)
    }

    /// The same page of what each of the users likes, newest like first. By SQL's rows: the newest
    /// changes appear once they are persisted, usually within a second.
    ///
    /// # Errors
    /// `Unavailable` when SQL is away.
    pub async fn liked(
        &self,
        users: &[UserId],
        page: &Page<LikedPlace>,
    ) -> Result<HashMap<UserId, Slice<LikedActivity>>> {
        Ok(self.store.liked(users, page).await?)
    }

    /// Makes an activity.
    ///
    /// # Errors
    /// `Unavailable` when SQL is away.
    pub async fn create_activity(&self, new: &NewActivity) -> Result<Activity> {
        let activity = self.store.create_activity(new).await?;
        self.absent.remove(&activity.id).await;
        Ok(activity)
    }

    /// Deletes an activity and everything about its likes.
    ///
    /// # Errors
    /// `NotFound`, `Forbidden` to anybody but its author, `Unavailable`.
    pub async fn delete_activity(&self, id: ActivityId, by: UserId) -> Result<()> {
        // A task of its own: a transaction must not stop in the middle because a client went away, and
        // what was deleted in SQL must be forgotten in Redis.
        let this = self.clone();
        let deletion = self.tasks.spawn(async move {
            let deletion = this.store.delete_activity(id, by).await?;
            if deletion == Deletion::Deleted {
                this.forget(id).await;
            }
            Ok::<_, Error>(deletion)
        });
        match deletion
            .await
            .map_err(|error| Error::Internal(error.into()))??
        {
            Deletion::Deleted => Ok(()),
            Deletion::NotAuthor => Err(Error::Forbidden),
            Deletion::NotFound => Err(Error::NotFound),
        }
    }

    /// The rows are gone, and that is what counts. If Redis is away now, the worker forgets the set when
    /// the next event of it comes, or else it expires.
    async fn forget(&self, id: ActivityId) {
        if let Err(error) = self.cache.forget(id).await {
            tracing::warn!(
                activity.id = id.get(),
                error = &error as &dyn StdError,
                "the set of a deleted activity stays in Redis for now"
            );
        }
    }
}
