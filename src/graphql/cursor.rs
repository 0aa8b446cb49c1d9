//! Cursors: opaque places in a list. Each names its list, so it cannot be taken for a place in another.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::error::{Error, Result};
use crate::domain::{ActivityId, ActivityOrder, FeedPlace, LikedPlace, Liker, Timestamp, UserId};

/// The last microsecond of the year 9999, the end of what every database can compare with.
const LATEST: i64 = 253_402_300_799_999_999;

/// A list that can be paged through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// All activities.
    Feed(ActivityOrder),
    /// Who likes an activity.
    Likers(ActivityId),
    /// What a user likes.
    Liked(UserId),
}

impl List {
    /// Its name inside cursors, without blanks.
    fn name(self) -> String {
        match self {
            Self::Feed(ActivityOrder::Newest) => "newest".to_owned(),
            Self::Feed(ActivityOrder::MostLiked) => "most-liked".to_owned(),
            Self::Likers(activity) => format!("likers-{activity}"),
            Self::Liked(user) => format!("liked-{user}"),
        }
    }
}

/// A keyset place: what a list is ordered by, then a key.
pub trait Place: Sized {
    /// Both as numbers.
    fn numbers(&self) -> [i64; 2];
    /// The place that has these numbers; None for what cannot be one.
    fn of(numbers: [i64; 2]) -> Option<Self>;
}

impl Place for FeedPlace {
    fn numbers(&self) -> [i64; 2] {
        [self.count, self.activity.get()]
    }

    fn of([count, activity]: [i64; 2]) -> Option<Self> {
        let activity = ActivityId::new(activity).ok()?;
        (count >= 0).then_some(Self { count, activity })
    }
}

impl Place for Liker {
    fn numbers(&self) -> [i64; 2] {
        [self.at.0, self.user.get()]
    }

    fn of([at, user]: [i64; 2]) -> Option<Self> {
        let user = UserId::new(user).ok()?;
        moment(at).map(|at| Self { at, user })
    }
}

impl Place for LikedPlace {
    fn numbers(&self) -> [i64; 2] {
        [self.at.0, self.activity.get()]
    }

    fn of([at, activity]: [i64; 2]) -> Option<Self> {
        let activity = ActivityId::new(activity).ok()?;
        moment(at).map(|at| Self { at, activity })
    }
}

/// Writes the cursor of a place in a list.
pub fn encode(list: List, place: &impl Place) -> String {
    let [order, key] = place.numbers();
    BASE64_URL_SAFE_NO_PAD.encode(format!("{} {order} {key}", list.name()))
}

/// Reads a cursor, exactly as `encode` writes it.
///
/// # Errors
/// Garbage, and a cursor of another list, naming the argument.
pub fn decode<P: Place>(list: List, cursor: &str, argument: &'static str) -> Result<P> {
    place_in(list, cursor)
        .filter(|place| encode(list, place) == cursor)
        .ok_or_else(|| Error::argument(argument, "this is not a cursor of this list"))
}

fn place_in<P: Place>(list: List, cursor: &str) -> Option<P> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let numbers = text.strip_prefix(&list.name())?.strip_prefix(' ')?;
    let (order, key) = numbers.split_once(' ')?;
    P::of([order.parse().ok()?, key.parse().ok()?])
}

fn moment(micros: i64) -> Option<Timestamp> {
    (0..=LATEST).contains(&micros).then_some(Timestamp(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn activity(key: i64) -> ActivityId {
        ActivityId::new(key).unwrap()
    }

    const NEWEST: List = List::Feed(ActivityOrder::Newest);
    const MOST_LIKED: List = List::Feed(ActivityOrder::MostLiked);

    #[test]
    fn a_cursor_leads_back_to_its_place() {
        let place = FeedPlace {
            count: 3,
            activity: activity(i64::MAX),
        };
        let cursor = encode(MOST_LIKED, &place);
        assert_eq!(decode(MOST_LIKED, &cursor, "after"), Ok(place));

        let liker = Liker {
            at: Timestamp(1_700_000_000_000_001),
            user: UserId::new(9_007_199_254_740_993).unwrap(),
        };
        let list = List::Likers(activity(7));
        assert_eq!(decode(list, &encode(list, &liker), "after"), Ok(liker));
    }

    #[test]
    fn a_cursor_of_another_list_is_refused() {
        let liker = Liker {
            at: Timestamp(5),
            user: UserId::new(1).unwrap(),
        };
        let cursor = encode(List::Likers(activity(1)), &liker);
        assert!(decode::<Liker>(List::Likers(activity(11)), &cursor, "after").is_err());
        assert!(decode::<Liker>(List::Likers(activity(2)), &cursor, "after").is_err());
        assert!(decode::<FeedPlace>(NEWEST, &cursor, "after").is_err());
    }

    #[test]
    fn garbage_is_refused() {
        let raw = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
        let texts = [
            String::new(),
            "!".to_owned(),
            raw("newest"),
            raw("newest 0"),
            raw("newest 0 0"),
            raw("newest -1 1"),
            raw("newest 0 01"),
            raw("newest +0 1"),
            raw("newest 0 1 "),
            raw("newest 0 99999999999999999999"),
            format!("{}=", raw("newest 0 1")),
        ];
        for text in texts {
            assert!(
                decode::<FeedPlace>(NEWEST, &text, "after").is_err(),
                "{text:?}"
            );
        }
        let far = raw("likers-1 9223372036854775807 1");
        assert!(decode::<Liker>(List::Likers(activity(1)), &far, "after").is_err());
    }
}
