//! `likewise dev`: everything on one machine, no configuration.

mod data;
mod redis;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::Args;

use super::Error;
use super::load::{Generator, Size, load};
use crate::app::{self, App};
use crate::config::{Api, Log, Process, Secret, Storage, Worker};
use crate::http::DemoUser;
use crate::http::auth::{Grant, sign};
use crate::shutdown::Shutdown;
use crate::telemetry;
pub use data::DataError;
use data::DataFolder;
use redis::PrivateRedis;
pub use redis::RedisError;

/// A feed that scrolls for a while, with activities that many and that nobody likes.
const DEMO: Size = Size {
    users: 120,
    activities: 80,
    likes: 1500,
};
const SEED: u64 = 1815;
/// Users whom the feed page offers to be.
const DEMO_USERS: usize = 6;
/// Longer than anybody looks at one start of `dev`.
const TOKEN_TTL: Duration = Duration::from_hours(24 * 30);

/// Runs everything on this machine, without any configuration
///
/// A private Redis, a SQLite file, demo data, the API, a worker, a feed page and GraphiQL. All data lies
/// in one folder. REDIS_URL and DATABASE_URL are used instead where they are set. Ctrl-C ends all of it.
#[derive(Debug, Args)]
#[expect(clippy::doc_markdown, reason = "help texts are read without Markdown")]
pub struct Dev {
    /// The folder that keeps all data; made if it is missing, safe to delete
    #[arg(
        long,
        env = "LIKEWISE_DATA",
        default_value = ".likewise",
        value_name = "FOLDER"
    )]
    data: PathBuf,

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

impl Dev {
    pub(super) async fn run(mut self) -> Result<bool, Error> {
        telemetry::init_logs(&self.log)?;
        self.api.server.check(&self.process, &self.storage.redis)?;
        let shutdown = Shutdown::new(self.process.shutdown_grace);
        shutdown.on_signals()?;
        let folder = DataFolder::open(&self.data)?;
        let redis = self.complete(&folder).await?;
        let served = self.serve(&shutdown).await;
        if let Some(redis) = redis {
            redis.stop().await;
        }
        served.map(|()| true)
    }

    /// Fills in what is not set from the data folder.
    async fn complete(&mut self, folder: &DataFolder) -> Result<Option<PrivateRedis>, Error> {
        if self.storage.database.database_url.is_none() {
            self.storage.database.database_url = Some(folder.database_url());
        }
        if self.api.access.jwt_secret.is_none() && self.api.access.jwks.is_none() {
            self.api.access.jwt_secret = Some(folder.secret()?);
        }
        if self.storage.redis.redis_url.is_some() {
            return Ok(None);
        }
        let redis = PrivateRedis::start(&folder.redis()).await?;
        self.storage.redis.redis_url = Some(Secret::from(redis.url().to_owned()));
        Ok(Some(redis))
    }

    async fn serve(&self, shutdown: &Shutdown) -> Result<(), Error> {
        let store = app::open_unmigrated_store(&self.storage)?;
        store.migrate().await?;
        if store.counts(None, 1).await?.is_empty() {
            load(&store, DEMO, SEED, |_| {}).await?;
        }
        let app = App::open(&self.storage).await?;
        let users = self.demo_users()?;
        let addresses = app
            .serve(&self.api, &self.process, Some(users.clone()), shutdown)
            .await?;
        app.work(&self.worker, shutdown);
        self.greet(&addresses, &users);
        Ok(shutdown.clone().finish().await?)
    }

    /// Demo users with tokens; none where tokens come from an identity provider.
    fn demo_users(&self) -> Result<Vec<DemoUser>, Error> {
        if self.api.access.jwt_secret.is_none() {
            return Ok(Vec::new());
        }
        let secret = self.api.access.require_secret()?;
        let users = Generator::users(0..DEMO_USERS).into_iter().map(|identity| {
            let name = identity.name.unwrap_or_default();
            let grant = Grant {
                subject: identity.subject.as_str(),
                name: Some(&name),
                picture: None,
                issuer: self.api.access.jwt_issuer.as_deref(),
                audience: self.api.access.jwt_audience.as_deref(),
                issued_at: SystemTime::now(),
                ttl: TOKEN_TTL,
            };
            let token = sign(secret, &grant)?;
            Ok(DemoUser { name, token })
        });
        users.collect()
    }

    fn greet(&self, addresses: &app::Addresses, users: &[DemoUser]) {
        let api = addresses.api;
        println!("\nLikewise runs.\n");
        println!("  Feed page   http://{api}/");
        println!("  GraphiQL    http://{api}/graphql");
        println!("  Metrics     http://{}/metrics", addresses.metrics);
        println!("  Data        {}", self.data.display());
        if let Some(user) = users.first() {
            println!(
                "\nA token of {}, for the header Authorization: Bearer ...\n",
                user.name
            );
            println!("  {}", user.token);
            println!("\nTokens of the other demo users: http://{api}/dev/users");
        }
        println!("\nCtrl-C ends it.\n");
    }
}
