//! Where likes are answered.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{Invalid, Secret, value};

const URL: &str = "REDIS_URL";

/// Redis.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Redis")]
pub struct Redis {
    /// Redis 7.0 or newer, or Valkey: `redis://user:password@host:6379/0`; `rediss:` for TLS
    ///
    /// It should keep an append-only file and have a `noeviction` or `volatile-ttl` policy. An
    /// `allkeys-*` policy may throw away likes that no database has yet; readiness warns of it.
    #[arg(
        long,
        env = URL,
        hide_env_values = true,
        value_name = "URL"
    )]
    pub redis_url: Option<Secret>,

    /// How many connections to Redis this process opens; many requests share one
    #[arg(
        long,
        env = "LIKEWISE_REDIS_CONNECTIONS",
        default_value = "4",
        value_name = "NUMBER",
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    pub redis_connections: u32,

    /// How long Redis may take to answer before it counts as away
    #[arg(
        long,
        env = "LIKEWISE_REDIS_TIMEOUT",
        default_value = "500ms",
        value_name = "TIME",
        value_parser = value::duration
    )]
    pub redis_timeout: Duration,

    /// When a like is acknowledged: once it is in Redis, or once Redis has fsynced it
    ///
    /// With `aof` a power cut of Redis' machine may cost the last second of likes; a crash of Redis alone
    /// costs none. With `fsync` it costs none, and each change waits for the disk. `fsync` needs Redis 7.2
    /// or newer, or Valkey, with `appendonly yes` and `appendfsync always`.
    #[arg(
        long,
        env = "LIKEWISE_DURABILITY",
        default_value = "aof",
        value_name = "MODE"
    )]
    pub durability: Durability,
}

/// When a change counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Durability {
    /// When it is in Redis, which writes it to its append-only file soon.
    Aof,
    /// When the append-only file with it is fsynced.
    Fsync,
}

impl Durability {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aof => "aof",
            Self::Fsync => "fsync",
        }
    }
}

impl Redis {
    /// Redis cannot do what the settings promise.
    pub fn durability_refused(&self, reason: &str) -> Invalid {
        Invalid::new("LIKEWISE_DURABILITY", reason)
    }

    /// The address, known to be one of Redis.
    ///
    /// # Errors
    /// It is not set, or is not an address of Redis.
    pub fn require(&self) -> Result<&Secret, Invalid> {
        let Some(secret) = &self.redis_url else {
            let reason = "is not set. It is where likes are answered and wait for the database, \
                          for example redis://localhost:6379";
            return Err(Invalid::new(URL, reason));
        };
        let scheme = secret.expose().split_once("://").unwrap_or_default().0;
        let address = url::Url::parse(secret.expose()).ok();
        let has_host = address.as_ref().is_some_and(url::Url::has_host);
        let has_path = address.is_some_and(|url| url.path().len() > 1);
        let reason = match scheme {
            "redis" | "rediss" if has_host => return Ok(secret),
            "unix" | "redis+unix" if has_path => return Ok(secret),
            "redis" | "rediss" => {
                "is not an address like redis://user:password@localhost:6379; \
                 in a password, write / as %2F, @ as %40 and # as %23"
            }
            "unix" | "redis+unix" => "names no socket; write it like unix:///run/redis.sock",
            _ => "does not begin with redis://, rediss:// or unix://",
        };
        Err(Invalid::new(URL, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_redis_pass() {
        let require = |url: Option<&str>| {
            let redis = Redis {
                redis_url: url.map(|url| url.to_owned().into()),
                redis_connections: 1,
                redis_timeout: Duration::from_secs(1),
                durability: Durability::Aof,
            };
            redis
                .require()
                .map(|_| ())
                .map_err(|error| error.to_string())
        };
        for url in [
            "redis://localhost",
            "rediss://a:b@[::1]:6380/2",
            "redis+unix:///tmp/redis.sock",
            "unix:///tmp/redis.sock?db=1",
        ] {
            assert_eq!(require(Some(url)), Ok(()), "{url}");
        }
        for url in [
            "",
            "localhost:6379",
            "http://localhost",
            "redis:localhost",
            "redis://",
            "redis://x:y/z@localhost",
            "unix://",
        ] {
            let error = require(Some(url)).unwrap_err();
            assert!(error.starts_with("REDIS_URL "), "{url}: {error}");
        }
        assert!(require(None).unwrap_err().contains("is not set"));
    }
}
