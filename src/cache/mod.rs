//! What Redis holds: one typed method a script, and reads that take one round trip for a whole batch.

mod change;
mod changes;
mod circuit;
mod error;
mod events;
mod fsync;
mod health;
mod keys;
mod look;
mod pool;
mod rebuild;
mod scripts;
mod settle;
mod spend;
mod survey;
mod views;

use std::time::Duration;

use redis::Value;

use crate::domain::{LikeState, Liker, Partitions, Timestamp};
pub use change::Changed;
pub use changes::News;
pub use error::{Error, Result};
pub use events::Waiting;
use fsync::Fsync;
pub use health::Warning;
use keys::{Keys, SENTINEL, user_of};
use pool::Pool;
pub use pool::{Connection, Connections};
pub use rebuild::{Begun, Lease};
use scripts::Scripts;
pub use spend::Allowance;
pub use survey::SetPage;

/// How to reach Redis and what to keep there.
#[derive(Debug, Clone)]
pub struct Options {
    /// `redis:` or `rediss:` address; may hold a password.
    pub url: String,
    /// What all keys begin with.
    pub prefix: String,
    /// Over how many partitions activities are spread.
    pub partitions: Partitions,
    /// How long a set is kept after its last change was persisted; each gets up to a tenth more or less.
    pub ttl: Duration,
    /// How long an idempotency key is remembered.
    pub idempotency_ttl: Duration,
    /// How many events of one partition may wait for SQL.
    pub max_backlog: u64,
    /// How many connections, each shared by many requests.
    pub connections: u32,
    /// The longest wait for an answer.
    pub timeout: Duration,
    /// Whether a change is answered only when Redis has fsynced it.
    pub fsync: bool,
}

/// Access to everything in Redis. One for a process.
pub struct Cache {
    pool: Box<dyn Connections>,
    keys: Keys,
    scripts: Scripts,
    options: Options,
    /// Only where changes wait for the disk.
    fsync: Option<Fsync>,
}

impl Cache {
    /// Prepares connections; none is made before it is needed, so Redis may still be away.
    ///
    /// # Errors
    /// The address cannot be understood.
    pub async fn open(options: Options) -> Result<Self> {
        let pool = Pool::open(&options).await?;
        let fsync = if options.fsync {
            Some(Fsync::open(&options).await?)
        } else {
            None
        };
        let mut cache = Self::over(Box::new(pool), options);
        cache.fsync = fsync;
        Ok(cache)
    }

    /// The same over connections from elsewhere.
    pub fn over(pool: Box<dyn Connections>, options: Options) -> Self {
        Self {
            pool,
            keys: Keys::new(&options.prefix, options.partitions),
            scripts: Scripts::new(),
            options,
            fsync: None,
        }
    }

    /// The partitions that activities are spread over.
    pub fn partitions(&self) -> Partitions {
        self.options.partitions
    }

    /// The expiry of one set in milliseconds, spread so that sets made together do not go together.
    fn expiry_millis(&self) -> u64 {
        let ttl = u64::try_from(self.options.ttl.as_millis()).unwrap_or(u64::MAX);
        let spread = ttl / 10;
        rand::random_range(ttl - spread..=ttl.saturating_add(spread)).max(1)
    }
}

/// Reads a like state from what `ZRANGE 0 top WITHSCORES`, `ZCARD` and the viewer's place say.
/// None where the set is missing or has no sentinel, and so cannot be trusted.
fn state(
    lowest: &[(String, f64)],
    members: i64,
    liked: bool,
    rank: Option<i64>,
) -> Result<Option<LikeState>> {
    let Some(((SENTINEL, score), top)) = lowest
        .split_first()
        .map(|((member, score), top)| ((member.as_str(), score), top))
    else {
        return Ok(None);
    };
    let version = micros(-score);
    Ok(Some(LikeState {
        count: members - 1,
        changed_at: (version.0 > 0).then_some(version),
        liked,
        rank,
        top: top
            .iter()
            .map(|(member, score)| liker(member, *score))
            .collect::<Result<_>>()?,
    }))
}

fn liker(member: &str, score: f64) -> Result<Liker> {
    let user = user_of(member).ok_or_else(|| Error::Unexpected(format!("member {member:?}")))?;
    Ok(Liker {
        at: micros(score),
        user,
    })
}

/// Scores are whole microseconds below 2^53, which doubles hold exactly.
#[expect(
    clippy::cast_possible_truncation,
    reason = "casts saturate, and times lie far below"
)]
fn micros(score: f64) -> Timestamp {
    Timestamp(score as i64)
}

fn decoded<T: redis::FromRedisValue>(value: Value) -> Result<T> {
    T::from_redis_value(value).map_err(|error| Error::Unexpected(error.to_string()))
}
