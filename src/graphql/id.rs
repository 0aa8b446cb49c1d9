//! Global ids: opaque outside, `Activity:<key>` or `User:<key>` in base64url inside.

use async_graphql::ID;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::error::{Error, Result};
use crate::domain::{ActivityId, UserId};

/// What a global id names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// An activity.
    Activity(ActivityId),
    /// A user.
    User(UserId),
}

impl Key {
    /// Reads a global id, exactly as `id` writes it: the number is parsed, never passed on as text.
    ///
    /// # Errors
    /// Everything else is refused, naming the argument.
    pub fn parse(id: &ID, argument: &'static str) -> Result<Self> {
        let refuse = || Error::argument(argument, "this is not an id that this service gave out");
        let bytes = BASE64_URL_SAFE_NO_PAD
            .decode(id.as_str())
            .map_err(|_| refuse())?;
        let text = str::from_utf8(&bytes).map_err(|_| refuse())?;
        let key = match text.split_once(':') {
            Some(("Activity", key)) => key.parse().ok().map(Self::Activity),
            Some(("User", key)) => key.parse().ok().map(Self::User),
            _ => None,
        };
        key.ok_or_else(refuse)
    }

    /// The global id.
    pub fn id(self) -> ID {
        let text = match self {
            Self::Activity(key) => format!("Activity:{key}"),
            Self::User(key) => format!("User:{key}"),
        };
        ID(BASE64_URL_SAFE_NO_PAD.encode(text))
    }
}

/// Reads the global id of an activity.
///
/// # Errors
/// Garbage, and the id of something else, naming the argument.
pub fn activity(id: &ID, argument: &'static str) -> Result<ActivityId> {
    match Key::parse(id, argument)? {
        Key::Activity(key) => Ok(key),
        Key::User(_) => Err(Error::argument(
            argument,
            "this is the id of a user, not of an activity",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> ID {
        ID(BASE64_URL_SAFE_NO_PAD.encode(text))
    }

    #[test]
    fn ids_are_read_as_they_are_written() {
        let key = Key::Activity("9007199254740993".parse().unwrap());
        assert_eq!(key.id(), raw("Activity:9007199254740993"));
        assert_eq!(Key::parse(&key.id(), "id"), Ok(key));
        let user = Key::User("1".parse().unwrap());
        assert_eq!(Key::parse(&user.id(), "id"), Ok(user));
    }

    #[test]
    fn an_id_has_one_spelling() {
        let padded = ID("QWN0aXZpdHk6MQ==".to_owned());
        let trailing_bits = ID("QWN0aXZpdHk6MR".to_owned());
        let strange = [
            raw(""),
            raw("Activity"),
            raw("Activity:"),
            raw("Activity:0"),
            raw("Activity:-1"),
            raw("Activity:01"),
            raw("Activity:1 "),
            raw("activity:1"),
            raw("Activity:1:1"),
            raw("Activity:9223372036854775808"),
            raw("Sentinel:1"),
            ID("1".to_owned()),
            ID("ä".to_owned()),
            padded,
            trailing_bits,
        ];
        for id in strange {
            assert!(Key::parse(&id, "id").is_err(), "{id:?}");
        }
    }

    #[test]
    fn a_user_is_no_activity() {
        let user = Key::User("1".parse().unwrap());
        assert!(activity(&user.id(), "id").is_err());
    }
}
