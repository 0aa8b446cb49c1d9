//! Who asks, and the key by which a client repeats a change safely.

use std::fmt;
use std::str::FromStr;

use super::Invalid;

/// The most bytes of a token's `sub`, as OpenID Connect Core 1.0 has it.
const SUBJECT_BYTES: usize = 255;
/// The most characters of a key that a client makes up; a UUID has 36.
const IDEMPOTENCY_KEY_CHARS: usize = 64;

/// A token's `sub`: any text of 1 to 255 bytes, unique to one user of one identity provider.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Subject(String);

impl Subject {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Subject {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        // Postgres cannot keep a NUL in a text.
        if text.is_empty() || text.len() > SUBJECT_BYTES || text.contains('\0') {
            return Err(Invalid(format!("a subject has 1 to {SUBJECT_BYTES} bytes")));
        }
        Ok(Self(text.to_owned()))
    }
}

/// What a verified token says of its bearer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The claim `sub`.
    pub subject: Subject,
    /// The claim `name`.
    pub name: Option<String>,
    /// The claim `picture`, an address.
    pub picture: Option<String>,
}

/// A client's own name for one change: the same key never changes anything twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl FromStr for IdempotencyKey {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.is_empty() || text.chars().count() > IDEMPOTENCY_KEY_CHARS {
            let message = format!("an idempotency key has 1 to {IDEMPOTENCY_KEY_CHARS} characters");
            return Err(Invalid(message));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_texts_are_bounded() {
        assert!("".parse::<Subject>().is_err());
        assert!("ä".repeat(128).parse::<Subject>().is_err());
        assert!("a".repeat(255).parse::<Subject>().is_ok());
        assert!("ä".repeat(64).parse::<IdempotencyKey>().is_ok());
        assert!("a".repeat(65).parse::<IdempotencyKey>().is_err());
    }
}
