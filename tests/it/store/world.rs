//! A fresh database with the store under test, and short words for what the tests do to it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use likewise::domain::{
    ActivityId, DeadLetter, EventId, Identity, LikeState, Liker, Look, NewActivity, Page,
    Partition, Partitions, Slice, Take, Timestamp, UserId,
};
use likewise::store::{Batch, LookQuery, Options, Persisted, RowsQuery, Store, Write, open};
use tempfile::TempDir;

use crate::servers::{empty_database, migrated_database};

/// Where the tests' events come from, unless they say otherwise.
pub const PARTITION: Partition = Partition(3);

/// Which database.
#[derive(Clone, Copy)]
pub enum Kind {
    Postgres,
    Sqlite,
}

/// A database and its store.
pub struct World {
    pub store: Arc<dyn Store>,
    pub kind: Kind,
    pub address: String,
    _folder: Option<TempDir>,
}

/// A like or unlike at a time in microseconds.
#[derive(Clone, Copy)]
pub enum Event {
    Like(ActivityId, UserId, i64),
    Unlike(ActivityId, UserId, i64),
}

impl World {
    /// A migrated database with eight partitions.
    pub async fn new(kind: Kind) -> Self {
        let world = match kind {
            Kind::Postgres => Self::at(kind, migrated_database().await, None),
            Kind::Sqlite => Self::empty(kind).await,
        };
        world.store.migrate().await.unwrap();
        world.store.ensure_checkpoints(partitions(8)).await.unwrap();
        world
    }

    /// A database without tables; with SQLite, not even a file.
    pub async fn empty(kind: Kind) -> Self {
        match kind {
            Kind::Postgres => Self::at(kind, empty_database().await, None),
            Kind::Sqlite => {
                let mut folder = tempfile::Builder::new();
                let folder = folder.prefix("likewise-sqlite-").tempdir().unwrap();
                let address = format!("sqlite:{}/likes.db", folder.path().display());
                Self::at(kind, address, Some(folder))
            }
        }
    }

    fn at(kind: Kind, address: String, folder: Option<TempDir>) -> Self {
        Self {
            store: connect(&address, 4),
            kind,
            address,
            _folder: folder,
        }
    }

    /// Makes a user.
    pub async fn user(&self, subject: &str) -> UserId {
        let identity = identity(subject);
        self.store.ensure_user(&identity).await.unwrap()
    }

    /// Makes users with rising keys.
    pub async fn users<const N: usize>(&self) -> [UserId; N] {
        self.crowd(N).await.try_into().unwrap()
    }

    /// Makes many users.
    pub async fn crowd(&self, count: usize) -> Vec<UserId> {
        let identity = |number: usize| identity(&format!("user {number}"));
        let identities: Vec<Identity> = (0..count).map(identity).collect();
        self.store.load_users(&identities).await.unwrap()
    }

    /// Makes an activity of a user who likes nothing.
    pub async fn activity(&self) -> ActivityId {
        let author = self.user("author").await;
        let new = activity_of(author);
        self.store.create_activity(&new).await.unwrap().id
    }

    /// Persists events that follow the checkpoint.
    pub async fn persist(&self, events: &[Event]) -> Persisted {
        let from = self.store.checkpoint(PARTITION).await.unwrap();
        let batch = batch(from, events);
        self.store.persist(&batch).await.unwrap()
    }

    /// Persists events of which none is to be set aside.
    pub async fn happened(&self, events: &[Event]) {
        assert_eq!(self.persist(events).await, committed());
    }

    /// The likes of an activity, with the earliest ten.
    pub async fn state(&self, activity: ActivityId, viewer: Option<UserId>) -> LikeState {
        let rows = RowsQuery {
            activities: &[activity],
            ..RowsQuery::default()
        };
        let look = Look {
            top: 10,
            rank: true,
        };
        self.looked(rows, viewer, look)
            .await
            .remove(&activity)
            .unwrap()
    }

    /// The likes of activities as one viewer sees them.
    pub async fn looked(
        &self,
        rows: RowsQuery<'_>,
        viewer: Option<UserId>,
        look: Look,
    ) -> HashMap<ActivityId, LikeState> {
        let activities = rows.activities.iter();
        let viewers = activities.filter_map(|activity| Some((*activity, viewer?)));
        let viewers: Vec<_> = viewers.collect();
        let query = LookQuery {
            rows,
            viewers: &viewers,
            look,
        };
        let found = self.store.look(&query).await.unwrap().found.into_iter();
        found.map(|(id, views)| (id, views.of(viewer))).collect()
    }

    /// A page of the likers of an activity.
    pub async fn likers(&self, activity: ActivityId, page: Page<Liker>) -> Slice<Liker> {
        let query = RowsQuery {
            activities: &[activity],
            ..RowsQuery::default()
        };
        let mut snapshot = self.store.likers(&query, &page).await.unwrap();
        snapshot.found.remove(&activity).unwrap()
    }

    /// Checks that an activity's count, its rows and its page of likers agree, and answers the number.
    pub async fn count(&self, activity: ActivityId) -> i64 {
        let rows = "SELECT count(*) FROM activities_likes WHERE activity_id =";
        let rows = self.number(&format!("{rows} {activity}")).await;
        let state = self.state(activity, None).await;
        let listed = self.likers(activity, first(1000)).await.items.len();
        assert_eq!(state.count, rows);
        assert_eq!(i64::try_from(listed).unwrap(), rows);
        rows
    }
}

/// A store with so many connections.
pub fn connect(address: &str, connections: u32) -> Arc<dyn Store> {
    let patience = Duration::from_secs(30);
    let options = Options {
        connections,
        patience,
    };
    open(address, &options).unwrap()
}

/// So many partitions.
pub fn partitions(count: u16) -> Partitions {
    Partitions(count.try_into().unwrap())
}

/// What a token without a name or picture says.
pub fn identity(subject: &str) -> Identity {
    Identity {
        subject: subject.parse().unwrap(),
        name: None,
        picture: None,
    }
}

/// An activity to be made.
pub fn activity_of(author: UserId) -> NewActivity {
    NewActivity {
        author,
        title: "title".to_owned(),
        body: String::new(),
        created_at: Timestamp(1_700_000_000_000_001),
    }
}

/// The net effect of events after a checkpoint, as the worker works it out.
pub fn batch(from: EventId, events: &[Event]) -> Batch {
    let mut batch = Batch {
        partition: PARTITION,
        from,
        to: from,
        writes: Vec::new(),
        changed: Vec::new(),
        garbage: Vec::new(),
    };
    let (mut writes, mut changed) = (BTreeMap::new(), BTreeMap::new());
    for event in events {
        batch.to = batch.to.next();
        let (activity, user, at, liked) = match *event {
            Event::Like(activity, user, at) => (activity, user, Timestamp(at), true),
            Event::Unlike(activity, user, at) => (activity, user, Timestamp(at), false),
        };
        let write = Write {
            event: batch.to,
            activity,
            user,
            liked_at: liked.then_some(at),
        };
        writes.insert((activity, user), write);
        let newest = changed.entry(activity).or_insert(at);
        *newest = at.max(*newest);
    }
    batch.writes = writes.into_values().collect();
    batch.changed = changed.into_iter().collect();
    batch
}

/// The answer to a batch of which nothing was set aside.
pub fn committed() -> Persisted {
    Persisted::Committed {
        set_aside: Vec::new(),
        gone: Vec::new(),
        refused: Vec::new(),
    }
}

/// A dead letter without a text.
pub fn garbage(id: EventId) -> DeadLetter {
    DeadLetter {
        id,
        reason: "garbage",
        payload: "rubbish".to_owned(),
    }
}

/// A liker.
pub fn liker(at: i64, user: UserId) -> Liker {
    let at = Timestamp(at);
    Liker { at, user }
}

/// The first so many.
pub fn first<C>(count: usize) -> Page<C> {
    page(Take::First(count), None, None)
}

/// The last so many.
pub fn last<C>(count: usize) -> Page<C> {
    page(Take::Last(count), None, None)
}

/// A page.
pub fn page<C>(take: Take, after: Option<C>, before: Option<C>) -> Page<C> {
    Page {
        take,
        after,
        before,
    }
}
