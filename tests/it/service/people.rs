//! Who asks, and for what.

use std::fmt::Display;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use likewise::config::Secret;
use likewise::domain::ActivityId;
use likewise::http::auth::{Grant, sign};

pub const SECRET: &str = "a secret that only the tests know of";

/// Somebody with a token.
#[derive(Debug, Clone)]
pub struct User {
    pub name: String,
    pub token: String,
}

/// Somebody with a name, who gets a row with the first change.
pub fn user(name: &str) -> User {
    let grant = Grant {
        subject: name,
        name: Some(name),
        picture: None,
        issuer: None,
        audience: None,
        issued_at: SystemTime::now(),
        ttl: Duration::from_hours(1),
    };
    User {
        name: name.to_owned(),
        token: sign(&Secret::from(SECRET.to_owned()), &grant).unwrap(),
    }
}

/// The key behind the global id of an activity.
pub fn key_of(id: &str) -> ActivityId {
    let text = BASE64_URL_SAFE_NO_PAD.decode(id).unwrap();
    let text = String::from_utf8(text).unwrap();
    text.strip_prefix("Activity:").unwrap().parse().unwrap()
}

/// The global id of an activity with any text for a key.
pub fn id_of(key: impl Display) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(format!("Activity:{key}"))
}

/// The global id of a user with any text for a key.
pub fn user_id_of(key: impl Display) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(format!("User:{key}"))
}
