//! Every key in Redis. The hash tag `{prefix:partition}` puts all keys of one script into one Cluster slot.
//!
//! | key | type | expiry |
//! |---|---|---|
//! | `{likes:p}:set:<activity>` | sorted set: member of a user -> time of the like in microseconds | after it is persisted |
//! | `{likes:p}:events` | stream of likes and unlikes, until persisted | never |
//! | `{likes:p}:pending` | hash: activity -> id of its newest unpersisted event | never |
//! | `{likes:p}:lease:<activity>` | string: token of the one rebuilder | seconds |
//! | `{likes:p}:staging:<activity>:<token>` | sorted set being rebuilt | seconds |
//! | `{likes:p}:worker` | string: token of the worker at it | seconds |
//! | `{likes:p}:once:<activity>:<user>:<key>` | string: operation and outcome of an idempotency key | a day |
//! | `{likes:caller:<caller>}:reads`, `:changes` | string: when the caller's allowance will be full again | by then |
//! | `{likes:0}:fsync` | string: written before each wait for the disk | seconds |
//! | `{likes:p}:changes` | sharded channel: `<activity> <version>` of each change | |

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::domain::{ActivityId, Change, IdempotencyKey, Partition, Partitions, UserId};

/// The member that keeps an empty set alive. Its score is minus the set's version, so it sorts first.
/// Members of users begin with a letter.
pub const SENTINEL: &str = "-";

/// Builds keys.
#[derive(Debug, Clone)]
pub struct Keys {
    prefix: String,
    partitions: Partitions,
}

impl Keys {
    pub fn new(prefix: &str, partitions: Partitions) -> Self {
        Self {
            prefix: prefix.to_owned(),
            partitions,
        }
    }

    pub fn partition(&self, activity: ActivityId) -> Partition {
        self.partitions.of(activity)
    }

    pub fn set(&self, activity: ActivityId) -> String {
        self.of(self.partition(activity), &format!("set:{activity}"))
    }

    pub fn events(&self, partition: Partition) -> String {
        self.of(partition, "events")
    }

    pub fn pending(&self, partition: Partition) -> String {
        self.of(partition, "pending")
    }

    pub fn lease(&self, activity: ActivityId) -> String {
        self.of(self.partition(activity), &format!("lease:{activity}"))
    }

    pub fn staging(&self, activity: ActivityId, token: &str) -> String {
        self.of(
            self.partition(activity),
            &format!("staging:{activity}:{token}"),
        )
    }

    pub fn worker(&self, partition: Partition) -> String {
        self.of(partition, "worker")
    }

    pub fn once(&self, change: &Change, key: &IdempotencyKey) -> String {
        let name = format!("once:{}:{}:{key}", change.activity, change.user);
        self.of(self.partition(change.activity), &name)
    }

    pub fn fsync(&self) -> String {
        self.of(Partition(0), "fsync")
    }

    pub fn changes(&self, partition: Partition) -> String {
        self.of(partition, "changes")
    }

    /// A caller's allowance. Braces in a name would move the hash tag, so the name goes in as digits.
    pub fn allowance(&self, caller: &str, name: &str) -> String {
        let caller = URL_SAFE_NO_PAD.encode(caller);
        format!("{{{}:caller:{caller}}}:{name}", self.prefix)
    }

    /// Patterns of the keys that a doubted partition loses, in the order in which they must go:
    /// while leases stand, a rebuilder may still put an old set into place.
    pub fn doubted(&self, partition: Partition) -> [String; 2] {
        [self.of(partition, "lease:*"), self.of(partition, "set:*")]
    }

    /// The pattern of all sets of a partition.
    pub fn sets(&self, partition: Partition) -> String {
        self.of(partition, "set:*")
    }

    /// The activity whose set a key names.
    pub fn activity_of(&self, set: &str) -> Option<ActivityId> {
        let activity = set.rsplit_once(":set:")?.1.parse().ok()?;
        (self.set(activity) == set).then_some(activity)
    }

    fn of(&self, partition: Partition, name: &str) -> String {
        format!("{{{}:{partition}}}:{name}", self.prefix)
    }
}

/// A user as a member: the digits of the key behind a letter that tells their number. Redis sorts
/// members of equal score by bytes, and so 9 comes before 10, as it does in SQL.
pub fn member(user: UserId) -> String {
    let digits = user.to_string();
    let length = u8::try_from(digits.len()).unwrap_or_default();
    format!("{}{digits}", char::from(b'a' + length - 1))
}

/// The user whom a member stands for; None for the sentinel and anything else.
pub fn user_of(text: &str) -> Option<UserId> {
    let user = text.get(1..)?.parse().ok()?;
    (member(user) == text).then_some(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(key: i64) -> UserId {
        UserId::new(key).unwrap()
    }

    #[test]
    fn members_sort_by_bytes_as_keys_sort_by_number() {
        let mut members: Vec<_> = [100, 9, 10, i64::MAX, 1]
            .map(|key| member(user(key)))
            .into();
        members.sort();
        let keys: Vec<_> = members
            .iter()
            .map(|text| user_of(text).unwrap().get())
            .collect();
        assert_eq!(keys, [1, 9, 10, 100, i64::MAX]);
    }

    #[test]
    fn no_user_can_be_the_sentinel() {
        assert_eq!(user_of(SENTINEL), None);
        for text in ["", "a", "a10", "b9", "a-", "9", "a0", "äa"] {
            assert_eq!(user_of(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_key_tells_its_activity() {
        let keys = Keys::new("likes", Partitions(16.try_into().unwrap()));
        let activity = ActivityId::new(42).unwrap();
        assert_eq!(keys.activity_of(&keys.set(activity)), Some(activity));
        assert_eq!(keys.activity_of("{likes:99}:set:42"), None);
    }
}
