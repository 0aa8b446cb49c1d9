//! What requests ask SQL for, whoever asks at the same moment together.

use std::collections::{HashMap, HashSet};
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
        let share = || (Arc::clone(store), tasks.clone());
        let ((looks, likers), (users, activities)) = ((share(), share()), (share(), share()));
        Self {
            looks: Gather::new("looks", looks.1, move |look, keys| {
                let store = Arc::clone(&looks.0);
                async move { read_looks(&*store, look, &keys).await }
            }),
            likers: Gather::new("likers", likers.1, move |page, activities: Vec<_>| {
                let store = Arc::clone(&likers.0);
                async move {
                    let rows = RowsQuery {
                        activities: &activities,
                        ..RowsQuery::default()
                    };
                    Ok(store.likers(&rows, &page).await?.found)
                }
            }),
            users: Gather::new("users", users.1, move |(), ids: Vec<_>| {
                let store = Arc::clone(&users.0);
                async move {
                    let rows = store.users(&ids).await?.into_iter();
                    Ok(rows.map(|row| (row.id, row)).collect())
                }
            }),
            activities: Gather::new("activities", activities.1, move |(), ids: Vec<_>| {
                let store = Arc::clone(&activities.0);
                async move {
                    let rows = store.activities(&ids).await?.into_iter();
                    Ok(rows.map(|row| (row.id, row)).collect())
                }
            }),
        }
    }
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
