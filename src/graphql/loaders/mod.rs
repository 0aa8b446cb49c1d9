//! Look-ups of one request, batched: whatever many resolvers ask for at once becomes one question to `likes`.

mod ahead;
mod batch;

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use dataloader::BatchFn;
use dataloader::cached::Loader;

use self::ahead::Ahead;
use self::batch::{
    ActivitiesBatch, Found, LikedBatch, LikedKey, LikersBatch, LikersKey, LikesBatch, Source,
    UsersBatch,
};
use super::context::{Degraded, Viewer};
use super::document::Survey;
use super::error::{Error, Result};
use crate::domain::{Activity, ActivityId, LikeState, LikedActivity, Liker, Slice, User, UserId};
use crate::likes::Likes;

/// Never cut a batch: the document's cost bounds it.
const LARGEST_BATCH: usize = usize::MAX;
/// How often a look-up of a row waits for others to join. Resolvers that start together have all started
/// after one round, and what belongs to lists is announced ahead.
const ROW_ROUNDS: usize = 2;
/// How often a look-up of a page waits. Nobody can announce pages ahead, and the items of a list start two
/// at a time; measured, ten rounds bring a hundred of them into one batch, also with fifty such requests at once.
const PAGE_ROUNDS: usize = 10;
/// How often to ask a loader. A resolver that is dropped in the middle of a batch, because something
/// beside it failed, takes the batch along; those who waited for it ask again.
const ATTEMPTS: usize = 3;

type RowLoader<K, V, F> = Loader<K, Found<V>, F>;

/// The loaders of one request.
pub struct Loaders {
    likes: RowLoader<ActivityId, LikeState, LikesBatch>,
    users: RowLoader<UserId, User, UsersBatch>,
    activities: RowLoader<ActivityId, Activity, ActivitiesBatch>,
    likers: RowLoader<LikersKey, Slice<Liker>, LikersBatch>,
    liked: RowLoader<LikedKey, Slice<LikedActivity>, LikedBatch>,
    source: Arc<Source>,
}

impl Loaders {
    /// Empty loaders.
    pub fn new(likes: &Likes, viewer: &Arc<Viewer>, survey: Survey, degraded: Degraded) -> Self {
        let source = Arc::new(Source {
            likes: likes.clone(),
            viewer: Arc::clone(viewer),
            survey,
            degraded,
            ahead: Ahead::default(),
        });
        let share = || Arc::clone(&source);
        Self {
            likes: loader(LikesBatch(share()), ROW_ROUNDS),
            users: loader(UsersBatch(share()), ROW_ROUNDS),
            activities: loader(ActivitiesBatch(share()), ROW_ROUNDS),
            likers: loader(LikersBatch(share()), PAGE_ROUNDS),
            liked: loader(LikedBatch(share()), PAGE_ROUNDS),
            source,
        }
    }

    /// The likes of an activity. An activity that is gone has none.
    pub async fn likes(&self, activity: ActivityId) -> Result<Arc<LikeState>> {
        Ok(load(&self.likes, activity).await?.unwrap_or_default())
    }

    /// A user, if there is a row.
    pub async fn user(&self, id: UserId) -> Result<Option<Arc<User>>> {
        load(&self.users, id).await
    }

    /// Users by key; those without a row are left out.
    pub async fn users(&self, ids: Vec<UserId>) -> Result<HashMap<UserId, Arc<User>>> {
        load_many(&self.users, ids).await
    }

    /// An activity, if there is a row.
    pub async fn activity(&self, id: ActivityId) -> Result<Option<Arc<Activity>>> {
        load(&self.activities, id).await
    }

    /// Activities by key; those without a row are left out.
    pub async fn activities(
        &self,
        ids: Vec<ActivityId>,
    ) -> Result<HashMap<ActivityId, Arc<Activity>>> {
        load_many(&self.activities, ids).await
    }

    /// A page of the likers of an activity.
    pub async fn likers(&self, key: LikersKey) -> Result<Slice<Liker>> {
        Ok(unshared(load(&self.likers, key).await?))
    }

    /// A page of what a user likes.
    pub async fn liked(&self, key: LikedKey) -> Result<Slice<LikedActivity>> {
        Ok(unshared(load(&self.liked, key).await?))
    }

    /// Tells of activities that a list brought, whose fields will ask for more.
    pub fn arrived<'a>(&self, rows: impl IntoIterator<Item = &'a Activity>) {
        self.source.ahead.arrived(rows);
    }

    /// Forgets what a change of an activity's likes has made old, and remembers the new state where it is known.
    pub async fn changed(&self, activity: ActivityId, state: Option<&Arc<LikeState>>) {
        self.source.ahead.activities.forget(activity);
        match state {
            Some(state) => {
                let likers = state.top.iter().map(|liker| liker.user);
                self.source.ahead.users.announce(likers);
                let found = Ok(Some(Arc::clone(state)));
                self.likes.prime(activity, found).await;
            }
            None => self.likes.clear(activity).await,
        }
        self.likers.clear_all().await;
        self.liked.clear_all().await;
    }

    /// Forgets an activity that has been deleted.
    pub async fn deleted(&self, activity: ActivityId) {
        self.changed(activity, None).await;
        self.activities.clear(activity).await;
    }
}

fn loader<K, V, F>(batch: F, rounds: usize) -> Loader<K, V, F>
where
    K: Eq + Hash + Clone + Debug,
    V: Clone,
    F: BatchFn<K, V>,
{
    let loader = Loader::new(batch).with_yield_count(rounds);
    loader.with_max_batch_size(LARGEST_BATCH)
}

async fn load<K, V, F>(loader: &RowLoader<K, V, F>, key: K) -> Found<V>
where
    K: Eq + Hash + Copy + Debug,
    F: BatchFn<K, Found<V>>,
{
    for _ in 0..ATTEMPTS {
        if let Ok(found) = loader.try_load(key).await {
            return found;
        }
    }
    Err(Error::internal("a batch left out a key"))
}

async fn load_many<K, V, F>(loader: &RowLoader<K, V, F>, keys: Vec<K>) -> Result<HashMap<K, Arc<V>>>
where
    K: Eq + Hash + Copy + Debug,
    F: BatchFn<K, Found<V>>,
{
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    for _ in 0..ATTEMPTS {
        if let Ok(found) = loader.try_load_many(keys.clone()).await {
            let found = found.into_iter();
            return found
                .filter_map(|(key, it)| Some(it.transpose()?.map(|it| (key, it))))
                .collect();
        }
    }
    Err(Error::internal("a batch left out a key"))
}

fn unshared<T: Clone>(slice: Option<Arc<Slice<T>>>) -> Slice<T> {
    slice.map_or_else(
        || Slice {
            items: Vec::new(),
            has_previous: false,
            has_next: false,
        },
        Arc::unwrap_or_clone,
    )
}
