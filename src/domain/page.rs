//! Keyset pages: a bounded piece of an ordered list, between two places in it.

use super::{ActivityId, Timestamp};

/// Which end of the range a page is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Take {
    /// The first so many.
    First(usize),
    /// The last so many.
    Last(usize),
}

impl Take {
    /// How many at the most.
    pub fn limit(self) -> usize {
        match self {
            Self::First(limit) | Self::Last(limit) => limit,
        }
    }

    /// Whether the page is taken from the start of the range.
    pub fn is_first(self) -> bool {
        matches!(self, Self::First(_))
    }
}

/// A wanted page: of all items strictly after `after` and strictly before `before`, the first or last so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Page<C> {
    /// How many, from which end.
    pub take: Take,
    /// Only items after this place in the list.
    pub after: Option<C>,
    /// Only items before this place in the list.
    pub before: Option<C>,
}

/// Items of a page, always in the order of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice<T> {
    /// The items.
    pub items: Vec<T>,
    /// Whether there are items before them.
    pub has_previous: bool,
    /// Whether there are items after them.
    pub has_next: bool,
}

impl<T> Slice<T> {
    /// Makes a slice of what a query found that asked for one item more than the page takes.
    /// `found` is in the order of the query: from the page's own end of the range.
    pub fn of<C>(page: &Page<C>, mut found: Vec<T>) -> Self {
        let more = found.len() > page.take.limit();
        found.truncate(page.take.limit());
        if page.take.is_first() {
            // A cursor was handed out with an item, so something stood there.
            Self {
                items: found,
                has_previous: page.after.is_some(),
                has_next: more,
            }
        } else {
            found.reverse();
            Self {
                items: found,
                has_previous: more,
                has_next: page.before.is_some(),
            }
        }
    }

    /// The same page with other items, one for one.
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> Slice<U> {
        Slice {
            items: self.items.into_iter().map(f).collect(),
            has_previous: self.has_previous,
            has_next: self.has_next,
        }
    }
}

/// A place in the feed. Newest-first order looks at the key alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FeedPlace {
    /// The persisted count of likes when the place was read; 0 in newest-first order.
    pub count: i64,
    /// Which activity.
    pub activity: ActivityId,
}

/// A place in the list of what a user likes, newest like first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LikedPlace {
    /// When the user liked it.
    pub at: Timestamp,
    /// Which activity.
    pub activity: ActivityId,
}
