//! Events of a subscription: each is a request of its own, with nothing loaded yet. What one has loaded is old
//! when the next one comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_graphql::extensions::{Extension, ExtensionContext, ExtensionFactory, NextExecute};
use async_graphql::{Context, Data, Response};

use super::complete;
use super::context::{Degraded, Scope, Viewer};
use super::document::Survey;
use super::error::{Error, Result};
use super::shape::Shape;
use crate::domain::Timestamp;
use crate::likes::Likes;

/// What all events of one subscription have in common.
pub struct Events {
    likes: Likes,
    viewer: Arc<Viewer>,
    survey: Survey,
    shape: Shape,
    executed: AtomicBool,
    failed: AtomicBool,
}

impl Events {
    /// For one subscriber.
    pub fn new(likes: &Likes, viewer: Arc<Viewer>, survey: Survey, shape: Shape) -> Self {
        Self {
            likes: likes.remembering(),
            viewer,
            survey,
            shape,
            executed: AtomicBool::new(false),
            failed: AtomicBool::new(false),
        }
    }

    /// Those of the subscription that a resolver works for.
    ///
    /// # Errors
    /// Only if the schema was executed past `graphql::subscribe`.
    pub fn of<'a>(context: &Context<'a>) -> Result<&'a Arc<Self>> {
        let events = context.data_opt::<Arc<Self>>();
        events.ok_or_else(|| Error::internal("a subscription without its events"))
    }

    /// Whether there has been an event since the last time; without one, the subscription was refused.
    pub fn take_executed(&self) -> bool {
        self.executed.swap(false, Ordering::Relaxed)
    }

    /// Whether the event before could not be shown because something was away.
    pub fn take_failed(&self) -> bool {
        self.failed.swap(false, Ordering::Relaxed)
    }

    fn scope(&self) -> Scope {
        Scope::of_viewer(
            self.likes.clone(),
            Arc::clone(&self.viewer),
            self.survey,
            Degraded::default(),
            Timestamp::now(),
        )
    }
}

/// Opens a scope for each event.
pub struct Scopes;

impl ExtensionFactory for Scopes {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Self)
    }
}

#[async_trait::async_trait]
impl Extension for Scopes {
    async fn execute(
        &self,
        context: &ExtensionContext<'_>,
        operation: Option<&str>,
        next: NextExecute<'_>,
    ) -> Response {
        let Ok(events) = context.data::<Arc<Events>>() else {
            return next.run(context, operation).await;
        };
        let scope = events.scope();
        let degraded = scope.degraded.clone();
        let mut data = Data::default();
        data.insert(scope);
        let mut response = next.run_with_data(context, operation, data).await;
        events.executed.store(true, Ordering::Relaxed);
        let failed = complete::is_any_unavailable(&response.errors);
        events.failed.store(failed, Ordering::Relaxed);
        events.shape.fit(&mut response);
        degraded.tell(&mut response);
        response
    }
}
