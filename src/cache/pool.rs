//! Connections to Redis.
//!
//! Each connection is multiplexed: requests clone it out of the pool, give it back at once and share
//! it, pipelined. The manager of `bb8-redis` never reports a broken connection, so that bb8 has to ping
//! at every checkout; ours notes a break when it happens and needs no ping.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bb8::{ManageConnection, RunError};
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{
    AsyncConnectionConfig, Client, Cmd, IntoConnectionInfo, Pipeline, ProtocolVersion, PushInfo,
    PushKind, RedisError, RedisFuture, RedisResult, Value,
};

use super::circuit::Circuit;
use super::{Error, Options, Result};

/// The longest wait for a connection. With Redis away a change must be refused within a second,
/// and the wait for an answer comes on top.
const PATIENCE: Duration = Duration::from_millis(250);

/// Where connections to Redis come from: a pool of them, or what a model puts in its place.
#[async_trait]
pub trait Connections: Send + Sync + 'static {
    /// A connection that others use too: nothing may change its state (SELECT, MULTI across awaits, SUBSCRIBE).
    ///
    /// # Errors
    /// `Error::Unreachable` if none is to be had soon.
    async fn connection(&self) -> Result<Connection>;
}

/// A connection for a few commands.
pub struct Connection(Box<dyn ConnectionLike + Send>);

/// A few connections that all requests share.
pub struct Pool {
    connections: bb8::Pool<Manager>,
    circuit: Circuit,
}

impl Pool {
    pub async fn open(options: &Options) -> Result<Self> {
        let info = options.url.as_str().into_connection_info()?;
        let settings = info
            .redis_settings()
            .clone()
            .set_protocol(ProtocolVersion::RESP3);
        let manager = Manager {
            client: Client::open(info.set_redis_settings(settings))?,
            timeout: options.timeout,
        };
        let pool = bb8::Pool::builder()
            .max_size(options.connections)
            .connection_timeout(PATIENCE)
            .retry_connection(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_on_check_out(true)
            .build(manager)
            .await;
        Ok(Self {
            connections: pool.map_err(|error| Error::Unreachable(Some(error)))?,
            circuit: Circuit::default(),
        })
    }
}

#[async_trait]
impl Connections for Pool {
    async fn connection(&self) -> Result<Connection> {
        if !self.circuit.admits(Instant::now()) {
            return Err(Error::Unreachable(None));
        }
        let connection = self.connections.get().await;
        self.circuit.note(connection.is_ok(), Instant::now());
        match connection {
            Ok(connection) => Ok(Connection::new(connection.clone())),
            Err(RunError::User(error)) => Err(Error::Unreachable(Some(error))),
            Err(RunError::TimedOut) => Err(Error::Unreachable(None)),
        }
    }
}

impl Connection {
    /// Takes anything that carries out commands.
    pub fn new(inner: impl ConnectionLike + Send + 'static) -> Self {
        Self(Box::new(inner))
    }
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        self.0.req_packed_command(cmd)
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.0.req_packed_commands(pipeline, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.0.get_db()
    }
}

struct Manager {
    client: Client,
    timeout: Duration,
}

impl ManageConnection for Manager {
    type Connection = Shared;
    type Error = RedisError;

    async fn connect(&self) -> RedisResult<Shared> {
        let broken = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&broken);
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(self.timeout))
            .set_push_sender(move |push: PushInfo| -> RedisResult<()> {
                if push.kind == PushKind::Disconnection {
                    told.store(true, Ordering::Relaxed);
                }
                Ok(())
            });
        let inner = self
            .client
            .get_multiplexed_async_connection_with_config(&config)
            .await?;
        Ok(Shared { inner, broken })
    }

    /// Costs no round trip.
    async fn is_valid(&self, connection: &mut Shared) -> RedisResult<()> {
        if connection.broken.load(Ordering::Relaxed) {
            return Err((redis::ErrorKind::Io, "the connection is broken").into());
        }
        Ok(())
    }

    fn has_broken(&self, connection: &mut Shared) -> bool {
        connection.broken.load(Ordering::Relaxed)
    }
}

/// A clone of a shared connection that tells the others when it breaks.
#[derive(Clone)]
struct Shared {
    inner: MultiplexedConnection,
    broken: Arc<AtomicBool>,
}

impl Shared {
    /// A time-out counts as a break: what a stalled connection answers later must not be waited for again.
    fn noted<T>(&self, answer: RedisResult<T>) -> RedisResult<T> {
        if answer.as_ref().is_err_and(RedisError::is_io_error) {
            self.broken.store(true, Ordering::Relaxed);
        }
        answer
    }
}

impl ConnectionLike for Shared {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let answer = self.inner.req_packed_command(cmd).await;
            self.noted(answer)
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let answer = self
                .inner
                .req_packed_commands(pipeline, offset, count)
                .await;
            self.noted(answer)
        })
    }

    fn get_db(&self) -> i64 {
        self.inner.get_db()
    }
}
