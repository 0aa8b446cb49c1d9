//! Reads that many watchers do together: whoever wants to read at the same moment shares one look.

use std::collections::{HashMap, HashSet};
use std::error::Error as StdError;
use std::sync::Arc;

use futures::future::join_all;
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::domain::{ActivityId, Look, UserId, Views};
use crate::likes::{Likes, Looks};

/// The most watchers that share a look. Their places in one set take Redis less than a millisecond.
const TOGETHER: usize = 500;
/// Watchers that may wait to read; more wait to ask.
const WAITING: usize = 1000;

/// Reads together. Cheap to clone.
#[derive(Clone)]
pub struct Reads {
    asks: mpsc::Sender<Ask>,
    asked: Arc<Mutex<mpsc::Receiver<Ask>>>,
}

struct Ask {
    activities: Vec<ActivityId>,
    viewer: Option<UserId>,
    look: Look,
    answer: oneshot::Sender<Looks>,
}

impl Reads {
    pub fn new() -> Self {
        let (asks, asked) = mpsc::channel(WAITING);
        Self {
            asks,
            asked: Arc::new(Mutex::new(asked)),
        }
    }

    /// The likes of activities as one viewer sees them; None when nobody can tell.
    pub async fn look(
        &self,
        activities: Vec<ActivityId>,
        viewer: Option<UserId>,
        look: Look,
    ) -> Option<Looks> {
        let (answer, answered) = oneshot::channel();
        let ask = Ask {
            activities,
            viewer,
            look,
            answer,
        };
        self.asks.send(ask).await.ok()?;
        answered.await.ok()
    }

    /// Answers until it is dropped. What is asked while one look is under way shares the next.
    pub async fn serve(&self, likes: &Likes) {
        let mut asked = self.asked.lock().await;
        let mut asks = Vec::with_capacity(TOGETHER);
        while asked.recv_many(&mut asks, TOGETHER).await > 0 {
            let mut alike: HashMap<Look, Vec<Ask>> = HashMap::new();
            for ask in asks.drain(..) {
                alike.entry(ask.look).or_default().push(ask);
            }
            let answered = alike.into_iter();
            join_all(answered.map(|(look, asks)| answer(likes, look, asks))).await;
        }
    }
}

/// Answers some who look at as much. Who gets no answer asks again.
async fn answer(likes: &Likes, look: Look, asks: Vec<Ask>) {
    let mut wanted: HashMap<ActivityId, HashSet<UserId>> = HashMap::new();
    for ask in &asks {
        for activity in &ask.activities {
            wanted.entry(*activity).or_default().extend(ask.viewer);
        }
    }
    let wanted: Vec<(ActivityId, Vec<UserId>)> = wanted
        .into_iter()
        .map(|(activity, viewers)| (activity, viewers.into_iter().collect()))
        .collect();
    // Without Redis all sets are missing, and the slower way below says what that means.
    let views = likes.cache.views(&wanted, look).await.unwrap_or_default();
    let mut incomplete: HashMap<Option<UserId>, Vec<(Ask, Looks)>> = HashMap::new();
    for ask in asks {
        let looks = seen(&views, &ask);
        if looks.states.len() == ask.activities.len() {
            reply(ask, looks);
        } else {
            incomplete.entry(ask.viewer).or_default().push((ask, looks));
        }
    }
    // All at once, so that they share what they read of SQL.
    let completed = incomplete.into_iter();
    join_all(completed.map(|(viewer, asks)| complete(likes, viewer, look, asks))).await;
}

/// What the sets say.
fn seen(views: &HashMap<ActivityId, Option<Views>>, ask: &Ask) -> Looks {
    let states = ask.activities.iter().filter_map(|activity| {
        let views = views.get(activity)?.as_ref()?;
        Some((*activity, views.of(ask.viewer)))
    });
    Looks {
        states: states.collect(),
        degraded: false,
    }
}

/// Answers those of one viewer for whom sets are missing.
async fn complete(likes: &Likes, viewer: Option<UserId>, look: Look, asks: Vec<(Ask, Looks)>) {
    let missing: HashSet<ActivityId> = asks
        .iter()
        .flat_map(|(ask, looks)| {
            let activities = ask.activities.iter().copied();
            activities.filter(|activity| !looks.states.contains_key(activity))
        })
        .collect();
    let missing: Vec<ActivityId> = missing.into_iter().collect();
    let found = match likes.look(&missing, viewer, look).await {
        Ok(found) => found,
        Err(error) => {
            let error = &error as &dyn StdError;
            tracing::warn!(error, "watchers could not read likes and will try again");
            return;
        }
    };
    for (ask, mut looks) in asks {
        for activity in &ask.activities {
            if let Some(state) = found.states.get(activity) {
                let state = || state.clone();
                looks.states.entry(*activity).or_insert_with(state);
            }
        }
        looks.degraded = found.degraded;
        reply(ask, looks);
    }
}

fn reply(ask: Ask, looks: Looks) {
    // Whoever has gone meanwhile needs no answer.
    drop(ask.answer.send(looks));
}
