//! Likers with their rows: Redis knows their order, SQL their names. The order is the likes', whatever
//! order the rows come in, and members without a row leave no gap.

use async_graphql::{Context, Object, SimpleObject};
use tokio::sync::OnceCell;

use super::activity::{Activity, int};
use super::connection::PageInfo;
use super::context::Scope;
use super::cursor::{self, List};
use super::error::Result;
use super::scalar::DateTime;
use super::user::User;
use crate::domain::{ActivityId, LikeState, Liker, Page, Slice, Take};

/// How many members to read on where rows were missing: accounts vanish seldom, but sometimes many at once.
const FILL: usize = 100;

/// The earliest likers that have a row.
///
/// # Errors
/// `UNAVAILABLE`.
pub async fn top(
    scope: &Scope,
    activity: ActivityId,
    state: &LikeState,
    wanted: usize,
) -> Result<Vec<User>> {
    let mut found = with_rows(scope, &state.top).await?;
    let all_seen = usize::try_from(state.count).is_ok_and(|count| count <= state.top.len());
    if found.len() < wanted && !all_seen {
        let further = Page {
            take: Take::First(wanted - found.len()),
            after: state.top.last().copied(),
            before: None,
        };
        found.extend(page(scope, activity, further).await?.items);
    }
    let users = found.into_iter().take(wanted);
    Ok(users.map(|(_, user)| user).collect())
}

/// A page of likers that have a row, filled up where rows are missing.
///
/// # Errors
/// `UNAVAILABLE`.
pub async fn page(
    scope: &Scope,
    activity: ActivityId,
    page: Page<Liker>,
) -> Result<Slice<(Liker, User)>> {
    let first = page.take.is_first();
    let limit = page.take.limit();
    let mut slice = scope.loaders.likers((activity, page)).await?;
    let mut found = with_rows(scope, &slice.items).await?;
    let (had_previous, had_next) = (slice.has_previous, slice.has_next);
    loop {
        let more = if first {
            slice.has_next
        } else {
            slice.has_previous
        };
        let end = if first {
            slice.items.last()
        } else {
            slice.items.first()
        };
        let (true, true, Some(end)) = (more, found.len() < limit, end.copied()) else {
            break;
        };
        let on = if first {
            Page {
                take: Take::First(FILL),
                after: Some(end),
                ..page
            }
        } else {
            Page {
                take: Take::Last(FILL),
                before: Some(end),
                ..page
            }
        };
        slice = scope.loaders.likers((activity, on)).await?;
        let further = with_rows(scope, &slice.items).await?;
        let at = if first { found.len() } else { 0 };
        found.splice(at..at, further);
    }
    let surplus = found.len().saturating_sub(limit);
    if first {
        found.truncate(limit);
    } else {
        found.drain(..surplus);
    }
    Ok(Slice {
        items: found,
        has_previous: if first {
            had_previous
        } else {
            slice.has_previous || surplus > 0
        },
        has_next: if first {
            slice.has_next || surplus > 0
        } else {
            had_next
        },
    })
}

/// Likers with their rows, in their order; those without one are left out.
async fn with_rows(scope: &Scope, likers: &[Liker]) -> Result<Vec<(Liker, User)>> {
    let ids = likers.iter().map(|liker| liker.user).collect();
    let rows = scope.loaders.users(ids).await?;
    let joined = likers.iter().filter_map(|liker| {
        let row = rows.get(&liker.user)?;
        Some((*liker, User::of_row(row.clone())))
    });
    Ok(joined.collect())
}

/// A user who likes an activity, and the place in the order of likes.
#[derive(Clone, SimpleObject)]
pub struct ActivityLikersEdge {
    /// The place: pass it as `after` or `before` to the same list.
    cursor: String,
    /// Who likes it.
    node: User,
    /// Since when: the moment at which the like was carried out, which is also what the list is ordered by.
    liked_at: DateTime,
}

/// A page of likers, read when a field asks for more than the total.
pub struct ActivityLikersConnection {
    activity: Activity,
    page: Page<Liker>,
    read: OnceCell<(Vec<ActivityLikersEdge>, PageInfo)>,
}

impl ActivityLikersConnection {
    /// A page that has not been read.
    pub fn new(activity: Activity, page: Page<Liker>) -> Self {
        Self {
            activity,
            page,
            read: OnceCell::new(),
        }
    }

    async fn read(&self, ctx: &Context<'_>) -> Result<&(Vec<ActivityLikersEdge>, PageInfo)> {
        let activity = self.activity.key();
        let read = || async {
            let slice = page(Scope::of(ctx)?, activity, self.page).await?;
            let slice = slice.map(|(liker, node)| ActivityLikersEdge {
                cursor: cursor::encode(List::Likers(activity), &liker),
                node,
                liked_at: DateTime(liker.at),
            });
            let cursors = slice.items.iter().map(|edge| edge.cursor.clone());
            let page_info = PageInfo::new(&slice, cursors);
            Ok((slice.items, page_info))
        };
        self.read.get_or_try_init(read).await
    }
}

/// A page of the users who like an activity, earliest like first.
#[Object]
impl ActivityLikersConnection {
    /// The likers of this page with cursors and times.
    async fn edges(&self, ctx: &Context<'_>) -> Result<&[ActivityLikersEdge]> {
        Ok(&self.read(ctx).await?.0)
    }

    /// The likers of this page alone, in the same order.
    async fn nodes(&self, ctx: &Context<'_>) -> Result<Vec<&User>> {
        let (edges, _) = self.read(ctx).await?;
        Ok(edges.iter().map(|edge| &edge.node).collect())
    }

    /// Where this page lies in the list.
    async fn page_info(&self, ctx: &Context<'_>) -> Result<&PageInfo> {
        Ok(&self.read(ctx).await?.1)
    }

    /// How many users like the activity: its `likeCount`. Whose account is gone still counts.
    async fn total_count(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(int(self.activity.likes(ctx).await?.count))
    }
}
