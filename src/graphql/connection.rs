//! Pages as Relay's connections have them.

use async_graphql::{Object, SimpleObject};

use super::activity::Activity;
use super::cursor::{self, List, Place};
use super::loaders::Loaders;
use crate::domain::{self, Slice};

/// Where a page lies in its list.
///
/// To go on, pass `endCursor` as `after` with `first`, or `startCursor` as `before` with `last`. Cursors are
/// places, not positions: items that come or go in between are neither shown twice nor skipped, and a
/// cursor stays good when its own item is gone.
#[derive(Debug, Clone, SimpleObject)]
pub struct PageInfo {
    /// Whether there are items before this page.
    pub has_previous_page: bool,
    /// Whether there are items after this page.
    pub has_next_page: bool,
    /// The cursor of the first item; null on an empty page.
    pub start_cursor: Option<String>,
    /// The cursor of the last item; null on an empty page.
    pub end_cursor: Option<String>,
}

impl PageInfo {
    /// Tells of a slice whose items have these cursors.
    pub fn new<T>(slice: &Slice<T>, mut cursors: impl DoubleEndedIterator<Item = String>) -> Self {
        let start_cursor = cursors.next();
        Self {
            has_previous_page: slice.has_previous,
            has_next_page: slice.has_next,
            end_cursor: cursors.next_back().or_else(|| start_cursor.clone()),
            start_cursor,
        }
    }
}

/// An activity and its place in the list.
#[derive(Clone, SimpleObject)]
pub struct ActivityEdge {
    /// The place: pass it as `after` or `before` to the same list.
    cursor: String,
    /// The activity.
    node: Activity,
}

/// A page of activities.
pub struct ActivityConnection {
    edges: Vec<ActivityEdge>,
    page_info: PageInfo,
}

impl ActivityConnection {
    /// Makes a page of rows and their places, and tells the loaders of them.
    pub fn new<P: Place>(
        loaders: &Loaders,
        list: List,
        slice: Slice<(P, domain::Activity)>,
    ) -> Self {
        loaders.arrived(slice.items.iter().map(|(_, row)| row));
        let slice = slice.map(|(place, row)| ActivityEdge {
            cursor: cursor::encode(list, &place),
            node: Activity::of_row(row.into()),
        });
        let cursors = slice.items.iter().map(|edge| edge.cursor.clone());
        Self {
            page_info: PageInfo::new(&slice, cursors),
            edges: slice.items,
        }
    }
}

/// A page of activities. It costs the same few look-ups whether it has five activities or a hundred.
#[Object]
impl ActivityConnection {
    /// The activities of this page with their cursors, in the order of the list.
    async fn edges(&self) -> &[ActivityEdge] {
        &self.edges
    }

    /// The activities of this page without cursors, in the same order.
    async fn nodes(&self) -> Vec<&Activity> {
        self.edges.iter().map(|edge| &edge.node).collect()
    }

    /// Where this page lies in the list.
    async fn page_info(&self) -> &PageInfo {
        &self.page_info
    }
}
