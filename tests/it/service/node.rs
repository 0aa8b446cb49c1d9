//! One API node in the test's own process.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;
use likewise::app::App;
use likewise::config::{Api, Process, Storage, Worker as WorkerSettings};
use likewise::shutdown::Shutdown;

/// The settings as a user would give them.
#[derive(Debug, Parser)]
pub struct Settings {
    #[command(flatten)]
    pub storage: Storage,
    #[command(flatten)]
    pub api: Api,
    #[command(flatten)]
    pub worker: WorkerSettings,
    #[command(flatten)]
    pub process: Process,
}

/// One API node, and the parts it is made of.
pub struct Node {
    pub app: App,
    pub api: SocketAddr,
    pub metrics: SocketAddr,
    pub settings: Settings,
    shutdown: Shutdown,
}

impl Node {
    pub async fn start(arguments: &[String]) -> Self {
        let settings = Settings::parse_from([&["likewise".to_owned()], arguments].concat());
        let shutdown = Shutdown::new(Duration::from_secs(10));
        let app = App::open(&settings.storage).await.unwrap();
        let addresses = app
            .serve(&settings.api, &settings.process, None, &shutdown)
            .await
            .unwrap();
        Self {
            app,
            api: addresses.api,
            metrics: addresses.metrics,
            settings,
            shutdown,
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}/graphql", self.api)
    }

    /// Starts a worker beside the API.
    pub fn work(&self) {
        self.app.work(&self.settings.worker, &self.shutdown);
    }

    pub async fn stop(self) {
        self.shutdown.begin();
        self.shutdown.finish().await.unwrap();
    }
}
