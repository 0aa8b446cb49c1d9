//! Waiting until Redis has what it acknowledged on its disk.
//!
//! `WAITAOF` speaks for the connection that sends it, and blocks it: on the connections that requests
//! share, each change would hold up all behind it. So changes are sent there, and one connection waits
//! for all of them together: Redis writes its file in the order in which it carries out commands, so when
//! a write that came after the changes is on the disk, they are too. A round begins when the one
//! before it has ended, and speaks for all changes that were answered before it began.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use redis::{ErrorKind, RedisError};

use super::keys::Keys;
use super::pool::{Connections, Pool};
use super::{Error, Options, Result};

/// The longest wait for the disk; after that the outcome of a change is unknown.
const PATIENCE: Duration = Duration::from_millis(2500);
/// On top of it, for the answer to arrive.
const ANSWER: Duration = Duration::from_millis(500);
/// How long the key written for each round is kept.
const KEPT_MILLIS: u64 = 60_000;

type Round = Shared<BoxFuture<'static, bool>>;

/// Waits in rounds.
pub struct Fsync {
    waiter: Arc<Waiter>,
    /// The round that has not begun yet.
    next: Arc<Mutex<Option<Round>>>,
}

struct Waiter {
    pool: Pool,
    key: String,
    /// Held by the round under way.
    turn: tokio::sync::Mutex<()>,
}

impl Fsync {
    pub async fn open(options: &Options) -> Result<Self> {
        let alone = Options {
            connections: 1,
            timeout: PATIENCE + ANSWER,
            ..options.clone()
        };
        let waiter = Waiter {
            pool: Pool::open(&alone).await?,
            key: Keys::new(&options.prefix, options.partitions).fsync(),
            turn: tokio::sync::Mutex::default(),
        };
        Ok(Self {
            waiter: Arc::new(waiter),
            next: Arc::default(),
        })
    }

    /// Returns when everything that Redis has carried out before is on its disk.
    ///
    /// # Errors
    /// `NoAnswer` if that is not known in time; it may be so all the same.
    pub async fn wait(&self) -> Result<()> {
        if self.round().await {
            return Ok(());
        }
        let error = RedisError::from((ErrorKind::Io, "it is not known to be on the disk"));
        Err(Error::NoAnswer(error))
    }

    fn round(&self) -> Round {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let round = next.get_or_insert_with(|| {
            let (waiter, this) = (Arc::clone(&self.waiter), Arc::clone(&self.next));
            // A task of its own: others wait for the same round when who began it has gone.
            let task = tokio::spawn(async move {
                let _turn = waiter.turn.lock().await;
                // From here on changes wait for the round after this one.
                drop(this.lock().unwrap_or_else(PoisonError::into_inner).take());
                waiter.fsynced().await.unwrap_or_else(|error| {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "changes are not known to be on Redis' disk"
                    );
                    false
                })
            });
            task.map(|ended| ended.unwrap_or(false)).boxed().shared()
        });
        round.clone()
    }
}

impl Waiter {
    async fn fsynced(&self) -> Result<bool> {
        let mut connection = self.pool.connection().await?;
        let patience = u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX);
        let (_, (local, _)): (String, (u64, u64)) = redis::pipe()
            .cmd("SET")
            .arg(&self.key)
            .arg(1)
            .arg("PX")
            .arg(KEPT_MILLIS)
            .cmd("WAITAOF")
            .arg(1)
            .arg(0)
            .arg(patience)
            .query_async(&mut connection)
            .await?;
        Ok(local >= 1)
    }
}
