//! What requests ask SQL for, whoever asks at the same moment together.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;

use tokio_util::task::TaskTracker;

use super::gather::Gather;
use crate::domain::{Activity, ActivityId, LikeState, Liker, Look, Page, Slice, User, UserId};
use crate::store::{LookQuery, Result, RowsQuery, Store};

/// An activity, and for whom its likes are.
type Seen = (ActivityId, Option<UserId>);

/// Questions to SQL. A thousand readers of a missing set cost it as much as a few do.
#[derive(Clone)]
pub struct Sql {
    /// The likes of activities by their rows.
    pub looks: Gather<Look, Seen, LikeState>,
    /// The same page of the likers of activities by their rows.
    pub likers: Gather<Page<Liker>, ActivityId, Slice<Liker>>,
    /// Users.
    pub users: Gather<(), UserId, User>,
    /// Activities.
    pub activities: Gather<(), ActivityId, Activity>,
}

impl Sql {
    /// Reads from this store, in tasks that are tracked.
    pub fn new(store: &Arc<dyn Store>, tasks: &TaskTracker) -> Self {
        Self {
            looks: gather(store, tasks, "looks", |store, look, seen| async move {
                read_looks(&*store, look, &seen).await
            }),
            likers: gather(store, tasks, "likers", |store, page, ids| async move {
                let rows = RowsQuery {
                    activities: &ids,
                    ..RowsQuery::default()
                };
                Ok(store.likers(&rows, &page).await?.found)
            }),
            users: gather(store, tasks, "users", |store, (), ids| async move {
                let rows = store.users(&ids).await?.into_iter();
                Ok(rows.map(|row| (row.id, row)).collect())
            }),
            activities: gather(store, tasks, "activities", |store, (), ids| async move {
                let rows = store.activities(&ids).await?.into_iter();
                Ok(rows.map(|row| (row.id, row)).collect())
            }),
        }
    }
}

/// Reads of one kind from a store, shared.
fn gather<A, K, V, F>(
    store: &Arc<dyn Store>,
    tasks: &TaskTracker,
    name: &'static str,
    read: impl Fn(Arc<dyn Store>, A, Vec<K>) -> F + Send + Sync + 'static,
) -> Gather<A, K, V>
where
    A: Copy + Eq + Hash + Send + 'static,
    K: Copy + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    F: Future<Output = Result<HashMap<K, V>>> + Send + 'static,
{
    let store = Arc::clone(store);
    let read = move |alike, keys| read(Arc::clone(&store), alike, keys);
    Gather::new(name, tasks.clone(), read)
}

async fn read_looks(
    store: &dyn Store,
    look: Look,
    seen: &[Seen],
) -> Result<HashMap<Seen, LikeState>> {
    let activities: HashSet<ActivityId> = seen.iter().map(|(activity, _)| *activity).collect();
    let activities: Vec<ActivityId> = activities.into_iter().collect();
    let viewers = seen
        .iter()
        .filter_map(|(activity, viewer)| Some((*activity, (*viewer)?)));
    let viewers: Vec<(ActivityId, UserId)> = viewers.collect();
    let query = LookQuery {
        rows: RowsQuery {
            activities: &activities,
            ..RowsQuery::default()
        },
        viewers: &viewers,
        look,
    };
    let views = store.look(&query).await?.found;
    let state = |(activity, viewer): &Seen| {
        let views = views.get(activity)?;
        Some(((*activity, *viewer), views.of(*viewer)))
    };
    Ok(seen.iter().filter_map(state).collect())
}
