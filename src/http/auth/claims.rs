//! What a verified token says of its bearer.

use std::time::{Duration, SystemTime};

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::domain::Identity;

/// Room for the longest names that people have; a feed shows less.
const NAME_CHARS: usize = 200;
/// What browsers and proxies take as an address.
const PICTURE_BYTES: usize = 2048;

const CENTURY: Duration = Duration::from_hours(24 * 36_525);

/// The claims that matter here. Time and audience are checked by the library.
#[derive(Debug, Deserialize)]
pub(super) struct Claims {
    sub: String,
    exp: Value,
    #[serde(default)]
    iss: Value,
    // Any value: a profile claim that is not text is no reason to turn its bearer away.
    #[serde(default)]
    name: Value,
    #[serde(default)]
    picture: Value,
}

impl Claims {
    pub(super) fn has_one_issuer(&self) -> bool {
        self.iss.is_string()
    }

    /// Seconds since 1970, possibly with a fraction (RFC 7519, section 2). The library has seen that it is a number;
    /// one that is past all calendars is as good as never, and taken for a century.
    pub(super) fn expires_at(&self) -> SystemTime {
        let seconds = self.exp.as_f64().unwrap_or_default();
        let since = Duration::try_from_secs_f64(seconds).ok();
        let at = since.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
        at.unwrap_or_else(|| SystemTime::now() + CENTURY)
    }

    pub(super) fn identity(&self) -> Result<Identity, String> {
        let subject = self.sub.parse();
        let subject = subject.map_err(|_| "sub is empty or too long".to_owned())?;
        Ok(Identity {
            subject,
            name: self.name.as_str().and_then(name),
            picture: self.picture.as_str().and_then(picture),
        })
    }
}

/// Without control characters, which pages and databases stumble over; cut at the bound.
fn name(text: &str) -> Option<String> {
    let printable = text.chars().filter(|c| !c.is_control());
    let printable: String = printable.collect();
    let name: String = printable.trim().chars().take(NAME_CHARS).collect();
    (!name.is_empty()).then_some(name)
}

/// Only what a browser can fetch as a picture: no `javascript:`, no `data:`.
fn picture(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    let fetchable = matches!(url.scheme(), "http" | "https") && url.has_host();
    let address = url.as_str();
    (fetchable && address.len() <= PICTURE_BYTES).then(|| address.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn identity(claims: Value) -> Result<Identity, String> {
        serde_json::from_value::<Claims>(claims).unwrap().identity()
    }

    #[test]
    fn profile_claims_that_are_not_as_they_should_be_are_left_out() {
        for (name, picture) in [
            (json!(5), json!(["https://a.example"])),
            (json!(" \u{0}\n "), json!("javascript:alert(1)")),
            (json!(null), json!("data:image/png;base64,AAAA")),
            (json!({}), json!("/relative.png")),
            (
                json!(""),
                json!(format!("https://a.example/{}", "a".repeat(2048))),
            ),
        ] {
            let claims = json!({"sub": "ada", "exp": 1, "name": name, "picture": picture});
            let identity = identity(claims).unwrap();
            assert_eq!((identity.name, identity.picture), (None, None));
        }
    }

    #[test]
    fn a_long_name_is_cut_and_a_picture_kept() {
        let picture = "https://pictures.example/ada.png";
        let name = format!(" Ada\u{7} {}", "ä".repeat(500));
        let identity =
            identity(json!({"sub": "ada", "exp": 1, "name": name, "picture": picture})).unwrap();
        let name = identity.name.unwrap();
        assert!(name.starts_with("Ada ä") && name.chars().count() == NAME_CHARS);
        assert_eq!(identity.picture.as_deref(), Some(picture));
    }

    #[test]
    fn the_subject_is_bounded() {
        assert!(identity(json!({"exp": 1, "sub": ""})).is_err());
        assert!(identity(json!({"exp": 1, "sub": "a".repeat(256)})).is_err());
        assert!(identity(json!({"exp": 1, "sub": "auth0|a".repeat(36)})).is_ok());
    }
}
