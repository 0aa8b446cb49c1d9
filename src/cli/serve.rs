//! `likewise serve`: the API, and a worker beside it.

use clap::Args;

use super::Error;
use crate::app::App;
use crate::config::{Api, Log, Process, Storage, Worker};
use crate::shutdown::Shutdown;
use crate::telemetry;

/// Serves the API, with a worker beside it unless that is switched off
///
/// Any number of these may run on one database and one Redis: nodes hold no state. The database has to
/// be migrated (`likewise migrate`). SIGTERM ends requests under way properly and then the process.
#[derive(Debug, Args)]
pub struct Serve {
    #[command(flatten)]
    storage: Storage,
    #[command(flatten)]
    api: Api,
    #[command(flatten)]
    worker: Worker,
    #[command(flatten)]
    process: Process,
    #[command(flatten)]
    log: Log,
}

impl Serve {
    pub(super) async fn run(self) -> Result<bool, Error> {
        telemetry::init_logs(&self.log)?;
        self.storage.check()?;
        self.api.server.check(&self.process, &self.storage.redis)?;
        self.api.access.require()?;
        let shutdown = Shutdown::new(self.process.shutdown_grace);
        shutdown.on_signals()?;
        let app = App::open(&self.storage).await?;
        let addresses = app.serve(&self.api, &self.process, None, &shutdown).await?;
        if self.api.server.worker {
            app.work(&self.worker, &shutdown);
        }
        tracing::info!(
            api = %addresses.api,
            metrics = %addresses.metrics,
            worker = self.api.server.worker,
            "serving"
        );
        shutdown.finish().await?;
        Ok(true)
    }
}
