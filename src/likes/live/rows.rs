//! Rows that change hardly ever, remembered for moments.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::time::Duration;

use moka::future::Cache as Memory;

use crate::domain::{Activity, ActivityId, User, UserId};
use crate::likes::Result;

/// How many rows of a kind are remembered, and how long: names and pictures follow within this time.
const ROWS: u64 = 100_000;
const KEPT: Duration = Duration::from_secs(5);

/// What watchers show around likes.
#[derive(Default)]
pub struct Rows {
    /// By key.
    pub users: Remembered<UserId, User>,
    /// By key.
    pub activities: Remembered<ActivityId, Activity>,
}

/// Rows of one kind, also those that do not exist.
pub struct Remembered<K, V>(Memory<K, Option<V>>);

impl<K, V> Default for Remembered<K, V>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    fn default() -> Self {
        let memory = Memory::builder().max_capacity(ROWS).time_to_live(KEPT);
        Self(memory.build())
    }
}

impl<K, V> Remembered<K, V>
where
    K: Copy + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// Rows by key; those that are not remembered are read. Those that do not exist are left out.
    ///
    /// # Errors
    /// What reading says.
    pub async fn get<F>(&self, keys: &[K], read: impl FnOnce(Vec<K>) -> F) -> Result<HashMap<K, V>>
    where
        F: Future<Output = Result<HashMap<K, V>>>,
    {
        let mut found = HashMap::with_capacity(keys.len());
        let unknown = self.remembered(keys, &mut found).await;
        if unknown.is_empty() {
            return Ok(found);
        }
        let mut rows = read(unknown.clone()).await?;
        for key in unknown {
            let row = rows.remove(&key);
            self.0.insert(key, row.clone()).await;
            found.extend(row.map(|row| (key, row)));
        }
        Ok(found)
    }

    /// Adds what is remembered; answers what is not.
    async fn remembered(&self, keys: &[K], found: &mut HashMap<K, V>) -> Vec<K> {
        let mut unknown = Vec::new();
        for key in keys {
            match self.0.get(key).await {
                Some(row) => found.extend(row.map(|row| (*key, row))),
                None => unknown.push(*key),
            }
        }
        unknown
    }
}
