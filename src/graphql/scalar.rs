//! Times as clients see them.

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};
use chrono::Utc;

use crate::domain::Timestamp;

/// A moment: RFC 3339 in UTC with six decimals, for example `2026-01-31T08:00:00.000001Z`. Always of the
/// same length, so two of them compare as text the way they compare in time. Keep the text: JavaScript's
/// `Date` drops the microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateTime(pub Timestamp);

/// A moment: RFC 3339 in UTC with six decimals, for example `2026-01-31T08:00:00.000001Z`. Always of the
/// same length, so two of them compare as text the way they compare in time. Keep the text: JavaScript's
/// `Date` drops the microseconds.
#[Scalar(name = "DateTime")]
impl ScalarType for DateTime {
    fn parse(value: Value) -> InputValueResult<Self> {
        let Value::String(text) = &value else {
            return Err(InputValueError::expected_type(value));
        };
        match text.parse::<chrono::DateTime<Utc>>() {
            Ok(time) => Ok(Self(Timestamp::from(time))),
            Err(_) => Err(InputValueError::custom("not a time as RFC 3339 has it")),
        }
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.to_rfc3339())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_their_microseconds() {
        let time = DateTime(Timestamp(1_769_846_400_000_001));
        let value = time.to_value();
        assert_eq!(value, Value::from("2026-01-31T08:00:00.000001Z"));
        assert_eq!(<DateTime as ScalarType>::parse(value).ok(), Some(time));
    }
}
