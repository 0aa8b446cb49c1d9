//! The composition root: the one place that puts a process together. Commands and tests use it alike.

use std::error::Error as StdError;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use futures::FutureExt;
use metrics::gauge;
use tokio_util::task::TaskTracker;

use crate::cache::{self, Cache};
use crate::config::{Api, Connections, Durability, Process, Storage};
use crate::domain::Partitions;
use crate::graphql::{self, Documents, Gate};
use crate::http::auth::Authenticator;
use crate::http::health::{Check, Health};
use crate::http::{self, DemoUser};
use crate::likes::Likes;
use crate::rates::Rates;
use crate::shutdown::Shutdown;
use crate::store::{self, Store};
use crate::telemetry;
use crate::worker::{self, Worker};

/// The longest wait for a connection to SQL, and for a statement.
const SQL_PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

/// Why a process could not be put together.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting.
    #[error(transparent)]
    Setting(#[from] crate::config::Invalid),
    /// SQL.
    #[error("the database cannot be used")]
    Store(#[from] store::Error),
    /// Redis.
    #[error("Redis cannot be used")]
    Cache(#[from] cache::Error),
    /// A listener.
    #[error("the server cannot start")]
    Listen(#[from] http::BindError),
    /// Something of the operating system.
    #[error("the operating system refuses")]
    System(#[from] std::io::Error),
    /// The collector of metrics.
    #[error("metrics cannot be collected")]
    Metrics(#[source] Box<dyn StdError + Send + Sync>),
}

/// SQL, Redis and what works on both.
#[derive(Clone)]
pub struct App {
    store: Arc<dyn Store>,
    cache: Arc<Cache>,
    likes: Likes,
    tasks: TaskTracker,
}

/// Where a process listens, once it does. Port 0 in the settings takes any free port.
#[derive(Debug, Clone, Copy)]
pub struct Addresses {
    /// Of the API.
    pub api: SocketAddr,
    /// Of metrics.
    pub metrics: SocketAddr,
}

/// Opens the database, which has to be migrated.
///
/// # Errors
/// It cannot be reached, or says what to run.
pub async fn open_store(storage: &Storage) -> Result<Arc<dyn Store>, Error> {
    let store = open_unmigrated_store(storage)?;
    store.verify().await?;
    store
        .ensure_checkpoints(Partitions(storage.cache.partitions))
        .await?;
    Ok(store)
}

/// Opens the database, in whatever state it is.
///
/// # Errors
/// It cannot be reached.
pub fn open_unmigrated_store(storage: &Storage) -> Result<Arc<dyn Store>, Error> {
    let options = store::Options {
        connections: storage.database.database_connections,
        patience: SQL_PATIENCE,
    };
    Ok(store::open(storage.database.require()?.expose(), &options)?)
}

/// Prepares connections to Redis, which may still be away.
///
/// # Errors
/// The address cannot be understood.
pub async fn open_cache(storage: &Storage) -> Result<Arc<Cache>, Error> {
    let partitions = storage.cache.partitions;
    let options = cache::Options {
        url: storage.redis.require()?.expose().to_owned(),
        prefix: storage.cache.key_prefix.clone(),
        partitions: Partitions(partitions),
        ttl: storage.cache.cache_ttl,
        idempotency_ttl: storage.cache.idempotency_ttl,
        max_backlog: storage
            .cache
            .max_backlog
            .div_ceil(u64::from(partitions.get())),
        connections: storage.redis.redis_connections,
        timeout: storage.redis.redis_timeout,
        fsync: storage.redis.durability == Durability::Fsync,
    };
    Ok(Arc::new(Cache::open(options).await?))
}

impl App {
    /// Opens both sides and says what is risky about them.
    ///
    /// # Errors
    /// A setting is wrong, or the database cannot be used. Redis may be away.
    pub async fn open(storage: &Storage) -> Result<Self, Error> {
        storage.check()?;
        let cache = open_cache(storage).await?;
        if let Ok(Some(hindrance)) = cache.hindrance().await {
            return Err(storage.redis.durability_refused(hindrance).into());
        }
        gauge!(telemetry::DURABILITY, "mode" => storage.redis.durability.name()).set(1.0);
        let store = open_store(storage).await?;
        match cache.warnings().await {
            Ok(warnings) => warnings.iter().for_each(|text| tracing::warn!("{text}")),
            Err(error) => tracing::warn!(
                error = &error as &dyn StdError,
                "Redis is away: reads come from the database, changes are refused until it is back"
            ),
        }
        let tasks = TaskTracker::new();
        Ok(Self {
            likes: Likes::new(Arc::clone(&store), Arc::clone(&cache), tasks.clone()),
            store,
            cache,
            tasks,
        })
    }

    /// What answers requests about likes.
    pub fn likes(&self) -> &Likes {
        &self.likes
    }

    /// The database.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Redis.
    pub fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }

    /// A worker on all partitions.
    pub fn worker(&self, settings: &crate::config::Worker) -> Worker {
        let options = worker::Options {
            batch: settings.batch,
        };
        Worker::new(Arc::clone(&self.store), Arc::clone(&self.cache), options)
    }

    /// Serves the API and metrics until the end begins.
    ///
    /// # Errors
    /// A setting is wrong, or an address is taken.
    pub async fn serve(
        &self,
        settings: &Api,
        process: &Process,
        demo: Option<Vec<DemoUser>>,
        shutdown: &Shutdown,
    ) -> Result<Addresses, Error> {
        let server = &settings.server;
        let authenticator = Authenticator::new(&settings.access).await?;
        let client_address_header = settings.rates.client_address_header()?;
        let documents = Documents::load(&settings.documents)?;
        let rates = Rates::new(&settings.rates, &self.cache);
        let gate = Gate::new(settings.limits.clone(), rates.clone(), documents);
        let listener = http::bind("LIKEWISE_LISTEN", server.listen).await?;
        let api = listener.local_addr()?;
        let metrics = self.serve_metrics(process, shutdown).await?;
        let schema = graphql::schema(self.likes.clone(), server.introspection);
        let watched = schema.clone();
        let routes = http::router(http::Service {
            execute: Arc::new(move |identity, prepared| {
                let schema = schema.clone();
                async move { graphql::execute(&schema, identity, prepared).await }.boxed()
            }),
            subscribe: Arc::new(move |identity, prepared| {
                graphql::subscribe(&watched, identity, prepared)
            }),
            live: http::Live::new(&server.live, shutdown),
            authenticator,
            checks: self.checks(),
            gate,
            connections: settings.connections.clone(),
            client_address_header,
            request_timeout: server.request_timeout,
            demo,
        });
        let connections = settings.connections.clone();
        let serve = http::serve(listener, routes, connections, shutdown.clone());
        shutdown.spawn("API", serve);
        let upkeep = rates.keep_up(shutdown.token());
        shutdown.spawn("upkeep of rate limits", infallible(upkeep));
        let (likes, stop) = (self.likes.clone(), shutdown.token());
        shutdown.spawn(
            "subscriptions",
            infallible(async move { likes.run_live(stop).await }),
        );
        self.finish_rebuilds(shutdown);
        Ok(Addresses { api, metrics })
    }

    /// Serves metrics alone until the end begins.
    ///
    /// # Errors
    /// The address is taken.
    pub async fn serve_metrics(
        &self,
        process: &Process,
        shutdown: &Shutdown,
    ) -> Result<SocketAddr, Error> {
        let listener = http::bind("LIKEWISE_METRICS_LISTEN", process.metrics_listen).await?;
        let address = listener.local_addr()?;
        let recorder = telemetry::recorder().map_err(|error| Error::Metrics(error.into()))?;
        let routes = http::metrics::router(recorder.clone(), self.checks());
        shutdown.spawn(
            "metrics server",
            http::serve(listener, routes, Connections::default(), shutdown.clone()),
        );
        let upkeep = http::metrics::keep_up(recorder, shutdown.token());
        shutdown.spawn("metrics upkeep", infallible(upkeep));
        Ok(address)
    }

    /// Persists events until the end begins.
    pub fn work(&self, settings: &crate::config::Worker, shutdown: &Shutdown) {
        let (worker, stop) = (self.worker(settings), shutdown.token());
        shutdown.spawn("worker", infallible(async move { worker.run(stop).await }));
    }

    /// Lets rebuilds that requests have started come to their end.
    fn finish_rebuilds(&self, shutdown: &Shutdown) {
        let (tasks, stop) = (self.tasks.clone(), shutdown.token());
        let finish = async move {
            stop.cancelled().await;
            tasks.close();
            tasks.wait().await;
        };
        shutdown.spawn("rebuilds", infallible(finish));
    }

    /// In the words of an operator.
    fn durability(&self) -> &'static str {
        if self.cache.waits_for_fsync() {
            "fsync: a like is acknowledged when it is on Redis' disk"
        } else {
            "aof: a like is acknowledged when Redis has it; a power cut of its machine may cost the last second"
        }
    }

    /// What has to work for the process to be ready. Without Redis reads go on and changes do not.
    fn checks(&self) -> Vec<Check> {
        let (store, cache) = (Arc::clone(&self.store), Arc::clone(&self.cache));
        let (policy, promise) = (Arc::clone(&self.cache), Arc::clone(&self.cache));
        let durability = Health::Note(self.durability().to_owned());
        vec![
            Check::new("database", move || {
                let store = Arc::clone(&store);
                async move { up(store.ping().await.is_ok(), "does not answer") }
            }),
            Check::new("redis", move || {
                let cache = Arc::clone(&cache);
                async move { up(cache.ping().await.is_ok(), "does not answer") }
            }),
            Check::new("durability", move || {
                let (cache, text) = (Arc::clone(&promise), durability.clone());
                async move {
                    match cache.hindrance().await {
                        Ok(Some(hindrance)) => {
                            Health::Down(format!("LIKEWISE_DURABILITY {hindrance}"))
                        }
                        Ok(None) | Err(_) => text,
                    }
                }
            }),
            Check::new("redis_settings", move || {
                let cache = Arc::clone(&policy);
                async move {
                    match cache.warnings().await {
                        Ok(warnings) if warnings.is_empty() => Health::Up,
                        Ok(warnings) => Health::Warning(warnings.join("; ")),
                        Err(_) => Health::Warning("cannot be read".to_owned()),
                    }
                }
            }),
        ]
    }
}

fn up(is_up: bool, otherwise: &str) -> Health {
    if is_up {
        Health::Up
    } else {
        Health::Down(otherwise.to_owned())
    }
}

/// A part that ends only when it is told to.
async fn infallible(part: impl Future<Output = ()>) -> Result<(), std::convert::Infallible> {
    part.await;
    Ok(())
}
