//! Whether a database has the schema that this program was built for.

use std::collections::HashMap;

use sqlx::FromRow;
use sqlx::migrate::Migrator;

use super::{Error, Result};
use crate::domain::Partitions;

/// A migration that a database has seen.
#[derive(FromRow)]
pub(super) struct Applied {
    version: i64,
    checksum: Vec<u8>,
    success: bool,
}

/// Compares what was applied to what this program brings along.
pub(super) fn compare(applied: &[Applied], embedded: &Migrator) -> Result<()> {
    if applied.is_empty() {
        return Err(Error::Unmigrated("it is empty".to_owned()));
    }
    let mut seen: HashMap<i64, &Applied> = HashMap::new();
    seen.extend(applied.iter().map(|applied| (applied.version, applied)));
    for migration in embedded.iter() {
        let version = migration.version;
        let fault = match seen.remove(&version) {
            None => "has not been applied",
            Some(applied) if !applied.success => "failed half-way",
            Some(applied) if applied.checksum != *migration.checksum => "is another one",
            Some(_) => continue,
        };
        return Err(Error::Unmigrated(format!("migration {version} {fault}")));
    }
    match seen.keys().max() {
        Some(version) => Err(Error::Unmigrated(format!(
            "migration {version} is newer than this program"
        ))),
        None => Ok(()),
    }
}

/// Compares the number of checkpoints to that of partitions.
pub(super) fn expect_partitions(stored: i64, partitions: Partitions) -> Result<()> {
    let wanted = partitions.0;
    if stored == i64::from(wanted.get()) {
        return Ok(());
    }
    Err(Error::PartitionsDiffer { stored, wanted })
}
