//! What SQL holds, and as much of a store as rebuilds and workers use. One method is one step.

use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;
use likewise::domain::{
    Activity, ActivityId, ActivityOrder, EventId, FeedPlace, Identity, LikeState, LikedActivity,
    LikedPlace, Liker, NewActivity, Page, Partition, Partitions, Slice, Subject, Timestamp, User,
    UserId, Views,
};
use likewise::store::{
    Batch, Counts, Deletion, Error, LookQuery, Persisted, Result, RowsQuery, Snapshot, Store,
};

use super::scripts::Guard;
use super::wire::Wire;

/// All tables.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    pub activities: BTreeMap<ActivityId, Likes>,
    pub checkpoint: EventId,
}

/// The rows of one activity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Likes {
    pub likers: BTreeMap<UserId, Timestamp>,
    pub count: i64,
    pub changed_at: Option<Timestamp>,
}

impl Rows {
    fn apply(&mut self, batch: &Batch) {
        for write in &batch.writes {
            let likes = self.activities.get_mut(&write.activity).unwrap();
            match write.liked_at {
                Some(at) => {
                    let before = likes.likers.insert(write.user, at);
                    likes.count += i64::from(before.is_none());
                }
                None => likes.count -= i64::from(likes.likers.remove(&write.user).is_some()),
            }
        }
        for (activity, at) in &batch.changed {
            let likes = self.activities.get_mut(activity).unwrap();
            likes.changed_at = likes.changed_at.max(Some(*at));
        }
        self.checkpoint = batch.to;
    }
}

/// As when the database is away.
fn away<T>(answer: Option<T>) -> Result<T> {
    answer.ok_or_else(|| Error::Database(sqlx::Error::PoolTimedOut))
}

#[async_trait]
impl Store for Wire {
    async fn look(&self, query: &LookQuery<'_>) -> Result<Snapshot<Views>> {
        let [activity] = query.rows.activities else {
            panic!("a rebuild looks at one activity");
        };
        let views = |likes: &Likes| {
            let state = LikeState {
                count: likes.count,
                changed_at: likes.changed_at,
                ..LikeState::default()
            };
            Views::new(state, [])
        };
        let found = self.request(|now| now.rows.activities.get(activity).map(views));
        Ok(snapshot(*activity, away(found.await)?))
    }

    /// One liker a page, to have as many pages as possible.
    async fn likers(
        &self,
        query: &RowsQuery<'_>,
        page: &Page<Liker>,
    ) -> Result<Snapshot<Slice<Liker>>> {
        let [activity] = query.activities else {
            panic!("a rebuild looks at one activity");
        };
        let slice = |likes: &Likes| {
            let likers = likes.likers.iter();
            let mut likers: Vec<_> = likers.map(|(&user, &at)| Liker { at, user }).collect();
            likers.retain(|liker| page.after.is_none_or(|after| *liker > after));
            likers.sort_unstable();
            let has_next = likers.len() > 1;
            likers.truncate(1);
            Slice {
                items: likers,
                has_previous: false,
                has_next,
            }
        };
        let found = self.request(|now| now.rows.activities.get(activity).map(slice));
        Ok(snapshot(*activity, away(found.await)?))
    }

    async fn checkpoint(&self, _: Partition) -> Result<EventId> {
        away(self.request(|now| now.rows.checkpoint).await)
    }

    async fn persist(&self, batch: &Batch) -> Result<Persisted> {
        let persisted = self.request(|now| {
            if now.rows.checkpoint != batch.from && now.without != Some(Guard::Fence) {
                return Persisted::Fenced;
            }
            now.rows.apply(batch);
            Persisted::Committed {
                set_aside: Vec::new(),
                gone: Vec::new(),
                refused: Vec::new(),
            }
        });
        away(persisted.await)
    }

    async fn migrate(&self) -> Result<()> {
        unreachable!()
    }
    async fn verify(&self) -> Result<()> {
        unreachable!()
    }
    async fn ensure_checkpoints(&self, _: Partitions) -> Result<()> {
        unreachable!()
    }
    async fn ping(&self) -> Result<()> {
        unreachable!()
    }
    async fn user_of(&self, _: &Subject) -> Result<Option<UserId>> {
        unreachable!()
    }
    async fn ensure_user(&self, _: &Identity) -> Result<UserId> {
        unreachable!()
    }
    async fn users(&self, _: &[UserId]) -> Result<Vec<User>> {
        unreachable!()
    }
    async fn activities(&self, _: &[ActivityId]) -> Result<Vec<Activity>> {
        unreachable!()
    }
    async fn feed(&self, _: ActivityOrder, _: &Page<FeedPlace>) -> Result<Slice<Activity>> {
        unreachable!()
    }
    async fn liked(
        &self,
        _: &[UserId],
        _: &Page<LikedPlace>,
    ) -> Result<HashMap<UserId, Slice<LikedActivity>>> {
        unreachable!()
    }
    async fn create_activity(&self, _: &NewActivity) -> Result<Activity> {
        unreachable!()
    }
    async fn delete_activity(&self, _: ActivityId, _: UserId) -> Result<Deletion> {
        unreachable!()
    }
    async fn counts(&self, _: Option<ActivityId>, _: usize) -> Result<Vec<Counts>> {
        unreachable!()
    }
    async fn recount(&self, _: ActivityId) -> Result<Option<(i64, i64)>> {
        unreachable!()
    }
    async fn dead_letters(&self) -> Result<Vec<(String, i64)>> {
        unreachable!()
    }
    async fn load_users(&self, _: &[Identity]) -> Result<Vec<UserId>> {
        unreachable!()
    }
    async fn load_activities(&self, _: &[NewActivity]) -> Result<Vec<ActivityId>> {
        unreachable!()
    }
    async fn load_likes(&self, _: &[(ActivityId, Liker)]) -> Result<()> {
        unreachable!()
    }
}

fn snapshot<T>(activity: ActivityId, found: Option<T>) -> Snapshot<T> {
    Snapshot {
        found: found.map(|found| (activity, found)).into_iter().collect(),
        checkpoints: HashMap::new(),
    }
}
