//! Keys of users and activities, and the partition that an activity belongs to.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroU16;
use std::str::FromStr;

use super::Invalid;

/// The key of a user row.
pub type UserId = Id<UserKind>;
/// The key of an activity row.
pub type ActivityId = Id<ActivityKind>;

/// A positive 64-bit key. The kind keeps a user's key from being taken for an activity's,
/// also where both have the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id<K> {
    key: i64,
    kind: PhantomData<K>,
}

/// What a key is a key of.
pub trait Kind {
    /// The name of the GraphQL type.
    const NAME: &'static str;
}

/// Marks the keys of users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserKind;

/// Marks the keys of activities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActivityKind;

impl Kind for UserKind {
    const NAME: &'static str = "User";
}

impl Kind for ActivityKind {
    const NAME: &'static str = "Activity";
}

impl<K: Kind> Id<K> {
    /// Takes a key from 1 up.
    ///
    /// # Errors
    /// Zero and negative numbers are no keys.
    pub fn new(key: i64) -> Result<Self, Invalid> {
        if key < 1 {
            return Err(Invalid(format!("{key} is not the key of any {}", K::NAME)));
        }
        Ok(Self {
            key,
            kind: PhantomData,
        })
    }

    /// The number itself, as SQL has it.
    pub fn get(self) -> i64 {
        self.key
    }
}

impl<K> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}

impl<K: Kind> FromStr for Id<K> {
    type Err = Invalid;

    /// Accepts exactly what `Display` writes: no sign, no leading zero, no blank.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let key = text.parse().ok().and_then(|key| Self::new(key).ok());
        key.filter(|key| key.to_string() == text)
            .ok_or_else(|| Invalid(format!("this is not the key of any {}", K::NAME)))
    }
}

/// One of the fixed number of shares of all activities; each has its own stream, worker and checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(pub u16);

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How many partitions there are. Fixed for the life of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partitions(pub NonZeroU16);

impl Partitions {
    /// The partition of an activity.
    pub fn of(self, activity: ActivityId) -> Partition {
        let share = mixed(activity.get().cast_unsigned()) % u64::from(self.0.get());
        Partition(u16::try_from(share).unwrap_or_default())
    }

    /// All of them, in order.
    pub fn all(self) -> impl Iterator<Item = Partition> {
        (0..self.0.get()).map(Partition)
    }
}

/// Spreads neighbouring keys evenly. Must never change: it decides where existing events lie.
/// Source: the finalizer of `SplitMix64` (Steele, Lea, Flood 2014).
fn mixed(key: u64) -> u64 {
    let z = key.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written_and_in_no_other_way() {
        let key: UserId = "9007199254740993".parse().unwrap();
        assert_eq!(key.to_string(), "9007199254740993");
        for text in [
            "",
            "0",
            "-1",
            "+1",
            "01",
            " 1",
            "1.0",
            "9223372036854775808",
            "ä",
        ] {
            assert!(text.parse::<UserId>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn the_partition_of_an_activity_is_what_it_always_was() {
        let partitions = Partitions(NonZeroU16::new(16).unwrap());
        let of = |key| partitions.of(ActivityId::new(key).unwrap()).0;
        assert_eq!([of(1), of(2), of(3), of(i64::MAX)], [1, 14, 13, 7]);
    }
}
