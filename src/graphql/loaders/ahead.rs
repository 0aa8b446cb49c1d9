//! Keys that are about to be asked for.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use crate::domain::{Activity, ActivityId, UserId};

/// What the rows and lists that have arrived make likely to be asked for next. It rides along in the
/// next batch, so that how many batches a page costs does not depend on when its hundred resolvers
/// happen to run: list items are resolved a few at a time, and a loader waits for a few of them only.
#[derive(Default)]
pub struct Ahead {
    /// Whose likes.
    pub activities: Announced<ActivityId>,
    /// Whose rows.
    pub users: Announced<UserId>,
}

impl Ahead {
    /// Announces what the fields of activities ask for.
    pub fn arrived<'a>(&self, rows: impl IntoIterator<Item = &'a Activity>) {
        let (ids, authors): (Vec<_>, Vec<_>) =
            rows.into_iter().map(|row| (row.id, row.author)).unzip();
        self.activities.announce(ids);
        self.users.announce(authors.into_iter().flatten());
    }
}

/// Keys of one kind, each announced once: what was loaded before must not be loaded again, or one
/// response would show two states of it.
pub struct Announced<K>(Mutex<Keys<K>>);

struct Keys<K> {
    waiting: Vec<K>,
    seen: HashSet<K>,
}

impl<K> Default for Announced<K> {
    fn default() -> Self {
        Self(Mutex::new(Keys {
            waiting: Vec::new(),
            seen: HashSet::new(),
        }))
    }
}

impl<K: Copy + Eq + Hash> Announced<K> {
    /// Lets keys ride along in the next batch.
    pub fn announce(&self, keys: impl IntoIterator<Item = K>) {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Keys { waiting, seen } = &mut *guard;
        waiting.extend(keys.into_iter().filter(|key| seen.insert(*key)));
    }

    /// Marks a key as loaded by other means.
    pub fn forget(&self, key: K) {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        guard.seen.insert(key);
        guard.waiting.retain(|waiting| *waiting != key);
    }

    /// The keys of a batch: those asked for, and those announced.
    pub fn join(&self, asked: &[K]) -> Vec<K> {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Keys { waiting, seen } = &mut *guard;
        let asked_for: HashSet<K> = asked.iter().copied().collect();
        seen.extend(asked);
        let announced = waiting.drain(..).filter(|key| !asked_for.contains(key));
        asked.iter().copied().chain(announced).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announced_keys_ride_along_once() {
        let keys = Announced::default();
        keys.announce([1, 2, 2]);
        assert_eq!(keys.join(&[2, 3]), [2, 3, 1]);
        keys.announce([1, 2, 3, 4]);
        assert_eq!(keys.join(&[5]), [5, 4]);
    }

    #[test]
    fn a_forgotten_key_comes_along_only_when_asked_for() {
        let keys = Announced::default();
        keys.announce([1, 2]);
        keys.forget(1);
        keys.announce([1]);
        assert_eq!(keys.join(&[]), [2]);
        assert_eq!(keys.join(&[1]), [1]);
    }
}
