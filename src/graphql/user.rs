//! A user.

use std::sync::Arc;

use async_graphql::{Context, ID, Object};

use super::connection::ActivityConnection;
use super::context::Scope;
use super::cursor::List;
use super::error::Result;
use super::id::Key;
use super::page::{Count, Window};
use crate::domain::{self, LikedPlace};

/// A user whose row is at hand.
#[derive(Clone)]
pub struct User(Arc<domain::User>);

impl User {
    /// The user of a row.
    pub fn of_row(row: Arc<domain::User>) -> Self {
        Self(row)
    }
}

/// Somebody who makes and likes activities.
#[Object]
impl User {
    /// The global id: opaque, stable, good for `node` and as a cache key.
    pub async fn id(&self) -> ID {
        Key::User(self.0.id).id()
    }

    /// The name to show, from the identity provider.
    async fn name(&self) -> &str {
        &self.0.name
    }

    /// The address of a picture, from the identity provider; null without one.
    async fn avatar_url(&self) -> Option<&str> {
        self.0.avatar_url.as_deref()
    }

    /// What the user likes, newest like first, in pages. A like of just now may take a second to appear here;
    /// `Activity.isLiked` shows it at once.
    ///
    /// Give `first` with `after` to go forwards, or `last` with `before` to go backwards; neither size means
    /// `first: 20`. Wrong sizes, and cursors that are not of this list, are `BAD_USER_INPUT`.
    async fn liked_activities(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "So many from the start, 1 to 100; not together with `last`.")]
        first: Option<Count>,
        #[graphql(desc = "Only activities after this cursor of the same list.")] after: Option<
            String,
        >,
        #[graphql(desc = "So many from the end, 1 to 100; not together with `first`.")]
        last: Option<Count>,
        #[graphql(desc = "Only activities before this cursor of the same list.")] before: Option<
            String,
        >,
    ) -> Result<ActivityConnection> {
        let window = Window {
            first,
            after,
            last,
            before,
        };
        let liked = List::Liked(self.0.id);
        let loaders = &Scope::of(ctx)?.loaders;
        let slice = loaders.liked((self.0.id, window.page(liked)?)).await?;
        let slice = slice.map(|item| {
            let place = LikedPlace {
                at: item.liked_at,
                activity: item.activity.id,
            };
            (place, item.activity)
        });
        Ok(ActivityConnection::new(loaders, liked, slice))
    }
}
