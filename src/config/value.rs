//! Parsers of single values. Their errors complete the sentence "invalid value '…' for …:".

use std::num::NonZeroU16;
use std::time::Duration;

/// Redis takes milliseconds, so a shorter time would become none.
const SHORTEST: Duration = Duration::from_millis(1);
/// Ten years: no service waits longer, and every deadline stays far from where clocks overflow.
const LONGEST: Duration = Duration::from_hours(3650 * 24);
/// More partitions than workers can share are overhead: each has a stream and a checkpoint.
const MOST_PARTITIONS: u16 = 1024;
/// The prefix is part of every key, of which there are millions.
const LONGEST_PREFIX: usize = 32;

/// Reads a time span such as `500ms`, `10s` or `24h`.
///
/// # Errors
/// Says how a time span is written, or that it is shorter than 1 ms or longer than ten years.
pub fn duration(text: &str) -> Result<Duration, String> {
    let span = humantime::parse_duration(text)
        .map_err(|_| "a time span is written like 500ms, 10s or 24h".to_owned())?;
    if !(SHORTEST..=LONGEST).contains(&span) {
        return Err("a time span here is at least 1ms and at most 3650days".to_owned());
    }
    Ok(span)
}

pub(super) fn partitions(text: &str) -> Result<NonZeroU16, String> {
    let number = text.parse().ok();
    number
        .filter(|number: &NonZeroU16| number.get() <= MOST_PARTITIONS)
        .ok_or_else(|| format!("a number from 1 to {MOST_PARTITIONS} is needed"))
}

/// Braces would move the hash tag, colons would blur where the prefix ends.
pub(super) fn key_prefix(text: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if text.is_empty() || text.len() > LONGEST_PREFIX || !text.chars().all(allowed) {
        return Err(format!(
            "1 to {LONGEST_PREFIX} letters, digits, underscores, dots and hyphens are needed"
        ));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_spans_are_neither_zero_nor_endless() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1day 2h"), Ok(Duration::from_hours(26)));
        for text in ["", "0s", "10", "1ns", "-1s", "3651days", "999999999999y"] {
            assert!(duration(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn partitions_and_prefixes_are_bounded() {
        assert_eq!(partitions("1024").map(NonZeroU16::get), Ok(1024));
        for text in ["", "0", "1025", "-1", "1.5", "65536"] {
            assert!(partitions(text).is_err(), "{text:?}");
        }
        assert!(key_prefix("likes.eu-1_a").is_ok());
        for text in ["", "a:b", "{a}", "a b", "ä", &"a".repeat(33)] {
            assert!(key_prefix(text).is_err(), "{text:?}");
        }
    }
}
