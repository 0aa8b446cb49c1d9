//! `likewise migrate`: brings the database's schema up to date.

use clap::Args;

use super::Error;
use crate::app;
use crate::config::{Log, Storage};
use crate::domain::Partitions;
use crate::telemetry;

/// Brings the database's schema up to date; safe to repeat
///
/// Makes a SQLite file that does not exist. Run it before the first start and after each update.
#[derive(Debug, Args)]
pub struct Migrate {
    #[command(flatten)]
    storage: Storage,
    #[command(flatten)]
    log: Log,
}

impl Migrate {
    pub(super) async fn run(self) -> Result<bool, Error> {
        telemetry::init_logs(&self.log)?;
        let store = app::open_unmigrated_store(&self.storage)?;
        store.migrate().await?;
        store
            .ensure_checkpoints(Partitions(self.storage.cache.partitions))
            .await?;
        println!("The schema is up to date.");
        Ok(true)
    }
}
