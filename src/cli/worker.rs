//! `likewise worker`: persists events, without an API.

use clap::Args;

use super::Error;
use crate::app::App;
use crate::config::{Log, Process, Storage, Worker};
use crate::shutdown::Shutdown;
use crate::telemetry;

/// Carries likes from Redis to the database, without an API
///
/// Any number may run, also beside the workers of `serve`; they share the partitions. SIGTERM finishes
/// the batches under way; whatever else waits stays in Redis.
#[derive(Debug, Args)]
pub struct WorkerCommand {
    #[command(flatten)]
    storage: Storage,
    #[command(flatten)]
    worker: Worker,
    #[command(flatten)]
    process: Process,
    #[command(flatten)]
    log: Log,
}

impl WorkerCommand {
    pub(super) async fn run(self) -> Result<bool, Error> {
        telemetry::init_logs(&self.log)?;
        let shutdown = Shutdown::new(self.process.shutdown_grace);
        shutdown.on_signals()?;
        let app = App::open(&self.storage).await?;
        let metrics = app.serve_metrics(&self.process, &shutdown).await?;
        app.work(&self.worker, &shutdown);
        tracing::info!(%metrics, "working");
        shutdown.finish().await?;
        Ok(true)
    }
}
