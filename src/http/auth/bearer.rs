//! Who bears a token, and for how long.

use std::time::{Duration, SystemTime};

use super::key::LEEWAY;
use crate::domain::Identity;

/// The bearer of a verified token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer {
    /// Who it is.
    pub identity: Identity,
    /// The claim `exp`.
    pub expires_at: SystemTime,
}

impl Bearer {
    /// How long what the token has opened may stay open. A token that is taken although its time is just over, as
    /// clocks differ, counts for as long as it is taken.
    pub fn remaining(&self, now: SystemTime) -> Duration {
        let remaining = self.expires_at.duration_since(now);
        remaining.unwrap_or_else(|_| {
            let last = self.expires_at + Duration::from_secs(LEEWAY);
            last.duration_since(now).unwrap_or_default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_counts_until_it_expires_or_while_it_is_still_taken() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let remaining = |expires_at| {
            let identity = Identity {
                subject: "ada".parse().unwrap(),
                name: None,
                picture: None,
            };
            let bearer = Bearer {
                identity,
                expires_at,
            };
            bearer.remaining(now).as_secs()
        };
        assert_eq!(remaining(now + Duration::from_secs(59)), 59);
        assert_eq!(remaining(now - Duration::from_secs(10)), 20);
        assert_eq!(remaining(now - Duration::from_secs(40)), 0);
    }
}
