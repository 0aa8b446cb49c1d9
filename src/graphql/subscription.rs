//! What can be watched.

use std::sync::Arc;

use async_graphql::{Context, ID, Object, Subscription};
use futures::Stream;
use futures::stream::unfold;

use super::activity::Activity;
use super::context::Scope;
use super::error::{Error, Result};
use super::event::Events;
use super::id;
use crate::likes::Fresh;

/// The most activities of one subscription: a page of the feed.
const ACTIVITIES_LARGEST: usize = 100;

/// The likes of an activity, changed.
pub struct LikeChange(Fresh);

/// The likes of an activity as they are now that they have changed.
#[Object]
impl LikeChange {
    /// The activity; its fields about likes are those of this change or a later one, as the subscriber sees them.
    #[expect(
        clippy::unused_async,
        reason = "async-graphql wants it async; the fields of the activity wait"
    )]
    async fn activity(&self, ctx: &Context<'_>) -> Result<Activity> {
        if self.0.degraded {
            Scope::of(ctx)?.degraded.set();
        }
        let state = self.0.state.clone();
        Ok(Activity::of_change(self.0.activity, Some(state.into())))
    }
}

/// The root of all watching.
pub struct Root;

/// The root of all watching: over WebSocket (`graphql-transport-ws`, with the token in the payload of
/// `connection_init`) or server-sent events (`Accept: text/event-stream`), both at the address of all else. A
/// subscription has exactly one field at its root.
#[Subscription(name = "Subscription")]
impl Root {
    /// The likes of activities, now and whenever they change, whoever changes them.
    ///
    /// What comes are states, never increments: first one of each activity, so that nothing is missed after a query,
    /// then one of each that changed, at most about ten a second for each activity, and always the latest in the end. A
    /// client that reads slowly gets fewer. After a disturbance states may come again; keep the one with the newest
    /// `likesChangedAt`. Activities that do not exist, or no longer, are passed over.
    async fn likes_changed(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "The global ids of 1 to 100 activities; anything else is `BAD_USER_INPUT`."
        )]
        activity_ids: Vec<ID>,
    ) -> Result<impl Stream<Item = LikeChange> + use<>> {
        if activity_ids.is_empty() || activity_ids.len() > ACTIVITIES_LARGEST {
            return Err(Error::argument("activityIds", "1 to 100 ids are needed"));
        }
        let keys = activity_ids.iter();
        let keys = keys.map(|id| id::activity(id, "activityIds"));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let scope = Scope::of(ctx)?;
        // Known for good from here on: a row that is made later is made here.
        let viewer = if scope.depends_on_viewer {
            scope.viewer.ensured().await?
        } else {
            None
        };
        let watch = scope.likes.watch(&keys, viewer, scope.look)?;
        let events = Arc::clone(Events::of(ctx)?);
        Ok(unfold((watch, None), move |(mut watch, last)| {
            let events = Arc::clone(&events);
            async move {
                // The event before has been shown by now, or has not.
                if let Some(last) = last.filter(|_| events.take_failed()) {
                    watch.again(last).await;
                }
                let fresh = watch.next().await?;
                let last = Some(fresh.activity);
                Some((LikeChange(fresh), (watch, last)))
            }
        }))
    }
}
