//! Times as counts of microseconds, the resolution that Redis, SQL and clients share.

use chrono::{DateTime, SecondsFormat, Utc};

/// Microseconds since 1970 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The time now by this machine's clock. For rows that SQL makes; likes get Redis' time.
    pub fn now() -> Self {
        Self(Utc::now().timestamp_micros())
    }

    /// The same moment as a calendar time; None past the year 262,000.
    pub fn to_utc(self) -> Option<DateTime<Utc>> {
        DateTime::from_timestamp_micros(self.0)
    }

    /// RFC 3339 in UTC with six decimals, `2026-01-31T08:00:00.000001Z`.
    pub fn to_rfc3339(self) -> String {
        self.to_utc().map_or_else(String::new, |time| {
            time.to_rfc3339_opts(SecondsFormat::Micros, true)
        })
    }
}

impl From<DateTime<Utc>> for Timestamp {
    fn from(time: DateTime<Utc>) -> Self {
        Self(time.timestamp_micros())
    }
}
