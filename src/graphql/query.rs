//! What can be asked.

use async_graphql::{Context, Enum, ID, Interface, Object};
use futures::try_join;

use super::activity::Activity;
use super::connection::ActivityConnection;
use super::context::Scope;
use super::cursor::List;
use super::error::{Error, Result};
use super::guard::NODES_LARGEST;
use super::id::{self, Key};
use super::page::{Count, Window};
use super::user::User;
use crate::domain::{self, FeedPlace};

/// Anything with a global id.
#[derive(Interface)]
#[graphql(field(
    name = "id",
    ty = "ID",
    desc = "The global id: opaque, stable, good for `node` and as a cache key."
))]
pub enum Node {
    /// A user.
    User(User),
    /// An activity.
    Activity(Activity),
}

/// The order of the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(name = "ActivityOrder")]
pub enum Order {
    /// Newest first.
    Newest,
    /// Most liked first, newest first among equals. By the counts in the database, which follow the likes
    /// within about a second.
    MostLiked,
}

impl From<Order> for domain::ActivityOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Newest => Self::Newest,
            Order::MostLiked => Self::MostLiked,
        }
    }
}

/// The root of all reading. Reading needs no token; with one, `isLiked` and `likeRank` are the viewer's.
pub struct Query;

/// The root of all reading. Reading needs no token; with one, `isLiked` and `likeRank` are the viewer's.
///
/// Every error carries `extensions.code`: `UNAUTHENTICATED`, `FORBIDDEN`, `NOT_FOUND`, `BAD_USER_INPUT` (with
/// `extensions.argument`, where one argument is to blame, or `extensions.limit`, where there is too much of
/// something), `CONFLICT`, `RATE_LIMITED` (with `extensions.retryAfterMs`, where waiting helps), `UNAVAILABLE` (with
/// `extensions.outcome`, `not_applied` or `unknown`), `PERSISTED_QUERY_NOT_FOUND` (send the document along with its
/// hash) or `INTERNAL`.
#[Object]
impl Query {
    /// Whatever has this global id; null if it does not exist, or no longer. `BAD_USER_INPUT` if this is no id.
    async fn node(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "A global id that this API gave out.")] id: ID,
    ) -> Result<Option<Node>> {
        let loaders = &Scope::of(ctx)?.loaders;
        Ok(match Key::parse(&id, "id")? {
            Key::Activity(key) => {
                let row = loaders.activity(key).await?;
                row.map(|row| Activity::of_row(row).into())
            }
            Key::User(key) => loaders.user(key).await?.map(|row| User::of_row(row).into()),
        })
    }

    /// Whatever has these global ids, in their order, with null in the place of what does not exist.
    /// `BAD_USER_INPUT` if one of them is no id, or for more than 100.
    async fn nodes(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Up to 100 global ids that this API gave out.")] ids: Vec<ID>,
    ) -> Result<Vec<Option<Node>>> {
        if ids.len() > NODES_LARGEST {
            return Err(Error::argument("ids", "at most 100 ids at a time"));
        }
        let keys = ids.iter().map(|id| Key::parse(id, "ids"));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let (mut activities, mut users) = (Vec::new(), Vec::new());
        for key in &keys {
            match *key {
                Key::Activity(key) => activities.push(key),
                Key::User(key) => users.push(key),
            }
        }
        let loaders = &Scope::of(ctx)?.loaders;
        let (activities, users) = try_join!(loaders.activities(activities), loaders.users(users))?;
        let nodes = keys.into_iter().map(|key| match key {
            Key::Activity(key) => {
                let row = activities.get(&key).cloned();
                row.map(|row| Activity::of_row(row).into())
            }
            Key::User(key) => {
                let row = users.get(&key).cloned();
                row.map(|row| User::of_row(row).into())
            }
        });
        Ok(nodes.collect())
    }

    /// Who asks, by the token; null for an anonymous request. A user whom this service has not met is made here.
    async fn viewer(&self, ctx: &Context<'_>) -> Result<Option<User>> {
        let scope = Scope::of(ctx)?;
        let Some(user) = scope.viewer.ensured().await? else {
            return Ok(None);
        };
        Ok(scope.loaders.user(user).await?.map(User::of_row))
    }

    /// An activity; null if it does not exist, or no longer. `BAD_USER_INPUT` if this is not the id of an activity.
    async fn activity(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The global id of an activity.")] id: ID,
    ) -> Result<Option<Activity>> {
        let key = id::activity(&id, "id")?;
        let row = Scope::of(ctx)?.loaders.activity(key).await?;
        Ok(row.map(Activity::of_row))
    }

    /// All activities, in pages.
    ///
    /// Give `first` with `after` to go forwards, or `last` with `before` to go backwards; neither size means
    /// `first: 20`. Wrong sizes, and cursors that are not of this list in this order, are `BAD_USER_INPUT`.
    async fn activities(
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
        #[graphql(
            desc = "The order. Cursors of one order are no cursors of the other.",
            default_with = "Order::Newest"
        )]
        order_by: Order,
    ) -> Result<ActivityConnection> {
        let window = Window {
            first,
            after,
            last,
            before,
        };
        let order = order_by.into();
        let feed = List::Feed(order);
        let page = window.page(feed)?;
        let scope = Scope::of(ctx)?;
        let slice = scope.likes.feed(order, &page).await?;
        let slice = slice.map(|row| {
            let count = match order {
                domain::ActivityOrder::Newest => 0,
                domain::ActivityOrder::MostLiked => row.persisted_count,
            };
            let place = FeedPlace {
                count,
                activity: row.id,
            };
            (place, row)
        });
        Ok(ActivityConnection::new(&scope.loaders, feed, slice))
    }
}
