//! An activity and its likes.

use std::sync::Arc;

use async_graphql::{Context, ID, Object};
use tokio::sync::OnceCell;

use super::context::Scope;
use super::cursor::List;
use super::error::{Error, Result};
use super::guard::{TOP_LIKERS_LARGEST, TOP_LIKERS_USUAL};
use super::id::Key;
use super::likers::{self, ActivityLikersConnection};
use super::page::{Count, Window};
use super::scalar::DateTime;
use super::user::User;
use crate::domain::{self, ActivityId, LikeState};

/// An activity of which row and likes are loaded when a field asks for them. All fields about likes
/// of one such object show the same moment.
#[derive(Clone)]
pub struct Activity(Arc<Parts>);

struct Parts {
    id: ActivityId,
    row: OnceCell<Arc<domain::Activity>>,
    likes: OnceCell<Arc<LikeState>>,
}

impl Activity {
    /// An activity whose row is at hand.
    pub fn of_row(row: Arc<domain::Activity>) -> Self {
        Self(Arc::new(Parts {
            id: row.id,
            row: OnceCell::new_with(Some(row)),
            likes: OnceCell::new(),
        }))
    }

    /// An activity right after a change of its likes.
    pub fn of_change(id: ActivityId, state: Option<Arc<LikeState>>) -> Self {
        Self(Arc::new(Parts {
            id,
            row: OnceCell::new(),
            likes: OnceCell::new_with(state),
        }))
    }

    /// Its key.
    pub fn key(&self) -> ActivityId {
        self.0.id
    }

    /// Its row.
    ///
    /// # Errors
    /// `NOT_FOUND` if it has been deleted since, `UNAVAILABLE`.
    async fn row(&self, ctx: &Context<'_>) -> Result<&domain::Activity> {
        let load = || async {
            let row = Scope::of(ctx)?.loaders.activity(self.0.id).await?;
            row.ok_or_else(Error::no_activity)
        };
        Ok(self.0.row.get_or_try_init(load).await?)
    }

    /// Its likes.
    ///
    /// # Errors
    /// `UNAVAILABLE`.
    pub async fn likes(&self, ctx: &Context<'_>) -> Result<&LikeState> {
        let load = || async { Scope::of(ctx)?.loaders.likes(self.0.id).await };
        Ok(self.0.likes.get_or_try_init(load).await?)
    }
}

/// Something that can be liked.
///
/// `likeCount`, `likesChangedAt`, `isLiked`, `likeRank` and `topLikers` of one activity in one response show the
/// same moment; likes and unlikes, also those of other users, appear in the very next request. While the like
/// store is away they come from the database, may miss the newest changes, and the response says so in
/// `extensions.likes`: `{"source": "sql", "complete": false}`.
#[Object]
impl Activity {
    /// The global id: opaque, stable, good for `node` and as a cache key.
    pub async fn id(&self) -> ID {
        Key::Activity(self.0.id).id()
    }

    /// The headline, 1 to 200 characters.
    async fn title(&self, ctx: &Context<'_>) -> Result<&str> {
        Ok(&self.row(ctx).await?.title)
    }

    /// The text, up to 10,000 characters; may be empty.
    async fn body(&self, ctx: &Context<'_>) -> Result<&str> {
        Ok(&self.row(ctx).await?.body)
    }

    /// Who made it; null once the account is gone.
    async fn author(&self, ctx: &Context<'_>) -> Result<Option<User>> {
        let Some(author) = self.row(ctx).await?.author else {
            return Ok(None);
        };
        let row = Scope::of(ctx)?.loaders.user(author).await?;
        Ok(row.map(User::of_row))
    }

    /// When it was made.
    async fn created_at(&self, ctx: &Context<'_>) -> Result<DateTime> {
        Ok(DateTime(self.row(ctx).await?.created_at))
    }

    /// How many users like it.
    async fn like_count(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(int(self.likes(ctx).await?.count))
    }

    /// The moment of its newest like or unlike; null if there was never one.
    ///
    /// It rises with every change, so of two answers about one activity, from whatever request, keep the one
    /// with the newest `likesChangedAt`: a slow response then never overwrites a newer one.
    async fn likes_changed_at(&self, ctx: &Context<'_>) -> Result<Option<DateTime>> {
        Ok(self.likes(ctx).await?.changed_at.map(DateTime))
    }

    /// Whether the viewer likes it; false for an anonymous one.
    async fn is_liked(&self, ctx: &Context<'_>) -> Result<bool> {
        Ok(self.likes(ctx).await?.liked)
    }

    /// The viewer's place in the order of likes, 1 for the first who liked it; null if the viewer does not like it
    /// or is anonymous.
    async fn like_rank(&self, ctx: &Context<'_>) -> Result<Option<i32>> {
        Ok(self.likes(ctx).await?.rank.map(int))
    }

    /// The earliest likers, in the order of their likes. Whose account is gone is left out, and the next one
    /// moves up. With `likeCount` this makes "liked by Ada, Grace and 40 others".
    async fn top_likers(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "How many, 0 to 50; anything else is `BAD_USER_INPUT`.",
            default_with = "Count(TOP_LIKERS_USUAL)"
        )]
        first: Count,
    ) -> Result<Vec<User>> {
        let wanted = first.within(0, TOP_LIKERS_LARGEST, "first")?;
        if wanted == 0 {
            return Ok(Vec::new());
        }
        let state = self.likes(ctx).await?;
        likers::top(Scope::of(ctx)?, self.0.id, state, wanted).await
    }

    /// Everybody who likes it, earliest like first, in pages. Whose account is gone is left out.
    ///
    /// Give `first` with `after` to go forwards, or `last` with `before` to go backwards; neither size means
    /// `first: 20`. Wrong sizes, and cursors that are not of this list, are `BAD_USER_INPUT`.
    #[expect(
        clippy::unused_async,
        reason = "async-graphql wants it async; the fields of the page wait"
    )]
    async fn likers(
        &self,
        #[graphql(desc = "So many from the start, 1 to 100; not together with `last`.")]
        first: Option<Count>,
        #[graphql(desc = "Only likers after this cursor of the same list.")] after: Option<String>,
        #[graphql(desc = "So many from the end, 1 to 100; not together with `first`.")]
        last: Option<Count>,
        #[graphql(desc = "Only likers before this cursor of the same list.")] before: Option<
            String,
        >,
    ) -> Result<ActivityLikersConnection> {
        let window = Window {
            first,
            after,
            last,
            before,
        };
        let page = window.page(List::Likers(self.0.id))?;
        Ok(ActivityLikersConnection::new(self.clone(), page))
    }
}

/// A count as GraphQL's `Int`, which ends at 2^31.
pub fn int(count: i64) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
