//! The arguments by which clients ask for a piece of a list.

use std::borrow::Cow;

use async_graphql::registry::Registry;
use async_graphql::{InputType, InputValueError, InputValueResult, Value};

use super::cursor::{self, List, Place};
use super::error::{Error, Result};
use crate::domain::{Page, Take};

/// The most items of a page: what one round trip to Redis answers in well under a millisecond.
pub const LARGEST: usize = 100;
/// The items of a page whose size nobody gave: a screen or two.
pub const USUAL: usize = 20;

/// A number of items as the client wrote it. GraphQL's `Int`, but of any size, so that numbers too
/// large for an `Int` are refused with the argument's name like those merely too large for a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count(pub i64);

impl InputType for Count {
    type RawValueType = Self;

    fn type_name() -> Cow<'static, str> {
        <i32 as InputType>::type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        <i32 as InputType>::create_type_info(registry)
    }

    fn parse(value: Option<Value>) -> InputValueResult<Self> {
        match value.unwrap_or_default() {
            Value::Number(number) if number.is_i64() => {
                Ok(Self(number.as_i64().unwrap_or(i64::MAX)))
            }
            value => Err(InputValueError::expected_type(value)),
        }
    }

    fn to_value(&self) -> Value {
        self.0.into()
    }

    fn as_raw_value(&self) -> Option<&Self> {
        Some(self)
    }
}

impl Count {
    /// The number, if it is within bounds.
    ///
    /// # Errors
    /// Anything outside, naming the argument.
    pub fn within(self, least: usize, most: usize, argument: &'static str) -> Result<usize> {
        let count = usize::try_from(self.0).ok();
        count
            .filter(|count| (least..=most).contains(count))
            .ok_or_else(|| Error::argument(argument, &format!("must be from {least} to {most}")))
    }
}

/// The four arguments of a connection.
#[derive(Debug, Clone, Default)]
pub struct Window {
    /// So many from the start.
    pub first: Option<Count>,
    /// Only items after this cursor.
    pub after: Option<String>,
    /// So many from the end.
    pub last: Option<Count>,
    /// Only items before this cursor.
    pub before: Option<String>,
}

impl Window {
    /// The page of a list that they ask for.
    ///
    /// # Errors
    /// Sizes out of bounds, both sizes at once, cursors that are not of this list: naming the argument.
    pub fn page<P: Place>(&self, of: List) -> Result<Page<P>> {
        let take = match (self.first, self.last) {
            (None, None) => Take::First(USUAL),
            (Some(first), None) => Take::First(first.within(1, LARGEST, "first")?),
            (None, Some(last)) => Take::Last(last.within(1, LARGEST, "last")?),
            (Some(_), Some(_)) => {
                return Err(Error::argument("last", "cannot be combined with first"));
            }
        };
        let place = |text: &Option<String>, argument| {
            let text = text.as_deref();
            text.map(|text| cursor::decode(of, text, argument))
                .transpose()
        };
        Ok(Page {
            take,
            after: place(&self.after, "after")?,
            before: place(&self.before, "before")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ActivityOrder, FeedPlace};

    const LIST: List = List::Feed(ActivityOrder::Newest);

    fn page(first: Option<i64>, last: Option<i64>) -> Result<Page<FeedPlace>> {
        let window = Window {
            first: first.map(Count),
            last: last.map(Count),
            ..Window::default()
        };
        window.page(LIST)
    }

    #[test]
    fn a_page_has_a_size_also_when_nobody_gave_one() {
        assert_eq!(page(None, None).unwrap().take, Take::First(20));
        assert_eq!(page(Some(1), None).unwrap().take, Take::First(1));
        assert_eq!(page(None, Some(100)).unwrap().take, Take::Last(100));
    }

    #[test]
    fn wrong_sizes_name_their_argument() {
        for size in [0, -1, 101, i64::MAX, i64::MIN] {
            let problem = "must be from 1 to 100";
            let first = Error::argument("first", problem);
            assert_eq!(page(Some(size), None), Err(first), "{size}");
            let last = Error::argument("last", problem);
            assert_eq!(page(None, Some(size)), Err(last), "{size}");
        }
        assert!(page(Some(1), Some(1)).is_err());
    }

    #[test]
    fn wrong_cursors_name_their_argument() {
        let garbage = Window {
            before: Some("garbage".to_owned()),
            ..Window::default()
        };
        let error = garbage.page::<FeedPlace>(LIST).unwrap_err();
        let expected = Error::argument("before", "this is not a cursor of this list");
        assert_eq!(error, expected);
    }

    #[test]
    fn a_cursor_works_with_either_size() {
        let place = FeedPlace {
            count: 0,
            activity: "5".parse().unwrap(),
        };
        let window = Window {
            last: Some(Count(2)),
            after: Some(cursor::encode(LIST, &place)),
            ..Window::default()
        };
        let page: Page<FeedPlace> = window.page(LIST).unwrap();
        assert_eq!(page.after, Some(place));
        assert_eq!(page.take, Take::Last(2));
    }
}
