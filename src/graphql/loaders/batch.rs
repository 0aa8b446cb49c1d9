//! The batch functions: each hands its keys to one method of `likes` and fills in every key.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use dataloader::BatchFn;
use futures::future::join_all;

use super::ahead::Ahead;
use crate::domain::{
    Activity, ActivityId, LikeState, LikedActivity, LikedPlace, Liker, Page, Slice, User, UserId,
};
use crate::graphql::context::{Degraded, Viewer};
use crate::graphql::document::Survey;
use crate::graphql::error::Result;
use crate::likes::Likes;

/// What a loader has for a key: a failure, or what was found, None for nothing.
pub type Found<T> = Result<Option<Arc<T>>>;

/// What the batches of one request work with.
pub struct Source {
    /// Answers them.
    pub likes: Likes,
    /// Who asks.
    pub viewer: Arc<Viewer>,
    /// How much of the likes to look at.
    pub survey: Survey,
    /// Set when an answer may lack the newest likes.
    pub degraded: Degraded,
    /// What will be asked for next.
    pub ahead: Ahead,
}

/// The likes of activities.
pub struct LikesBatch(pub Arc<Source>);

impl BatchFn<ActivityId, Found<LikeState>> for LikesBatch {
    async fn load(&mut self, keys: &[ActivityId]) -> HashMap<ActivityId, Found<LikeState>> {
        let keys = self.0.ahead.activities.join(keys);
        fill(&keys, self.look(&keys).await)
    }
}

impl LikesBatch {
    async fn look(&self, keys: &[ActivityId]) -> Result<HashMap<ActivityId, LikeState>> {
        let viewer = if self.0.survey.viewer {
            self.0.viewer.known().await?
        } else {
            None
        };
        let looks = self.0.likes.look(keys, viewer, self.0.survey.look).await?;
        if looks.degraded {
            self.0.degraded.set();
        }
        let top = looks.states.values().flat_map(|state| &state.top);
        self.0.ahead.users.announce(top.map(|liker| liker.user));
        Ok(looks.states)
    }
}

/// Rows of users.
pub struct UsersBatch(pub Arc<Source>);

impl BatchFn<UserId, Found<User>> for UsersBatch {
    async fn load(&mut self, keys: &[UserId]) -> HashMap<UserId, Found<User>> {
        let keys = self.0.ahead.users.join(keys);
        let users = self.0.likes.users(&keys).await;
        fill(&keys, users.map_err(Into::into))
    }
}

/// Rows of activities.
pub struct ActivitiesBatch(pub Arc<Source>);

impl BatchFn<ActivityId, Found<Activity>> for ActivitiesBatch {
    async fn load(&mut self, keys: &[ActivityId]) -> HashMap<ActivityId, Found<Activity>> {
        let rows = self.0.likes.activities(keys).await;
        if let Ok(rows) = &rows {
            self.0.ahead.arrived(rows.values());
        }
        fill(keys, rows.map_err(Into::into))
    }
}

/// A page of the likers of an activity.
pub type LikersKey = (ActivityId, Page<Liker>);

/// Pages of likers.
pub struct LikersBatch(pub Arc<Source>);

impl BatchFn<LikersKey, Found<Slice<Liker>>> for LikersBatch {
    async fn load(&mut self, keys: &[LikersKey]) -> HashMap<LikersKey, Found<Slice<Liker>>> {
        let pages = by_page(keys).into_iter().map(async |(page, ids)| {
            let slices = self.0.likes.likers(&ids, &page).await;
            if let Ok(slices) = &slices {
                let likers = slices.values().flat_map(|slice| &slice.items);
                self.0.ahead.users.announce(likers.map(|liker| liker.user));
            }
            with_page(page, fill(&ids, slices.map_err(Into::into)))
        });
        join_all(pages).await.into_iter().flatten().collect()
    }
}

/// A page of what a user likes.
pub type LikedKey = (UserId, Page<LikedPlace>);

/// Pages of what users like.
pub struct LikedBatch(pub Arc<Source>);

impl BatchFn<LikedKey, Found<Slice<LikedActivity>>> for LikedBatch {
    async fn load(&mut self, keys: &[LikedKey]) -> HashMap<LikedKey, Found<Slice<LikedActivity>>> {
        let pages = by_page(keys).into_iter().map(async |(page, ids)| {
            let slices = self.0.likes.liked(&ids, &page).await;
            if let Ok(slices) = &slices {
                let liked = slices.values().flat_map(|slice| &slice.items);
                self.0.ahead.arrived(liked.map(|liked| &liked.activity));
            }
            with_page(page, fill(&ids, slices.map_err(Into::into)))
        });
        join_all(pages).await.into_iter().flatten().collect()
    }
}

/// Every key with what was found for it, or with the failure that struck them all.
fn fill<K: Copy + Eq + Hash, V>(keys: &[K], found: Result<HashMap<K, V>>) -> HashMap<K, Found<V>> {
    let keys = keys.iter().copied();
    match found {
        Ok(mut found) => keys
            .map(|key| (key, Ok(found.remove(&key).map(Arc::new))))
            .collect(),
        Err(error) => keys.map(|key| (key, Err(error.clone()))).collect(),
    }
}

/// The ids of each distinct page: one query answers all of them.
fn by_page<K: Copy, P: Copy + Eq + Hash>(keys: &[(K, P)]) -> HashMap<P, Vec<K>> {
    let mut pages: HashMap<P, Vec<K>> = HashMap::new();
    for (id, page) in keys {
        pages.entry(*page).or_default().push(*id);
    }
    pages
}

fn with_page<K, P: Copy, V>(page: P, found: HashMap<K, V>) -> impl Iterator<Item = ((K, P), V)> {
    found.into_iter().map(move |(id, it)| ((id, page), it))
}
