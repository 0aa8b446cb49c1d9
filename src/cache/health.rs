//! Whether Redis is there and set up so that it keeps what it is given.

use std::collections::HashMap;

use redis::InfoDict;

use super::{Cache, Result};

/// The oldest Redis with sharded channels and all commands that the scripts use.
const OLDEST: (u64, u64) = (7, 0);
/// The oldest with `WAITAOF`. Valkey, which began later, calls itself 7.2 for this purpose.
const OLDEST_WITH_FSYNC: (u64, u64) = (7, 2);

/// Whether Redis frees big sets beside its work.
const FREEING: [&str; 2] = ["lazyfree-lazy-expire", "lazyfree-lazy-eviction"];

/// A setting of Redis that puts likes at risk: what is set and what it risks.
pub type Warning = String;

/// What matters of Redis' settings. From `INFO`, which managed services allow where they forbid
/// `CONFIG`; None is what they do not tell.
struct Setup {
    version: Option<(u64, u64)>,
    policy: String,
    appends: Option<bool>,
    fsyncs: Option<String>,
    /// Settings under which Redis stops everything while it frees a set.
    frees_at_once: Vec<&'static str>,
    last_write_failed: bool,
}

impl Cache {
    /// Answers when Redis does.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn ping(&self) -> Result<()> {
        let mut connection = self.pool.connection().await?;
        let _: String = redis::cmd("PING").query_async(&mut connection).await?;
        Ok(())
    }

    /// Whether changes are acknowledged only when they are on Redis' disk.
    pub fn waits_for_fsync(&self) -> bool {
        self.fsync.is_some()
    }

    /// What is risky in Redis' version, eviction policy and persistence.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn warnings(&self) -> Result<Vec<Warning>> {
        let setup = self.setup().await?;
        Ok(setup.warnings(self.waits_for_fsync()))
    }

    /// Why Redis cannot do what changes wait for; None if it can, or if they wait for nothing.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn hindrance(&self) -> Result<Option<&'static str>> {
        if !self.waits_for_fsync() {
            return Ok(None);
        }
        Ok(self.setup().await?.hindrance())
    }

    async fn setup(&self) -> Result<Setup> {
        let mut connection = self.pool.connection().await?;
        let info: InfoDict = redis::cmd("INFO").query_async(&mut connection).await?;
        let version: String = info.get("redis_version").unwrap_or_default();
        let mut parts = version.split('.').map_while(|part| part.parse().ok());
        let appends = info.get::<u8>("aof_enabled").map(|it| it == 1);
        let mut config = redis::cmd("CONFIG");
        config.arg("GET").arg("appendfsync").arg(&FREEING);
        let config: redis::RedisResult<HashMap<String, String>> =
            config.query_async(&mut connection).await;
        let mut config = config.unwrap_or_default();
        let frees_at_once = FREEING.into_iter();
        let frees_at_once =
            frees_at_once.filter(|name| config.get(*name).is_some_and(|it| it == "no"));
        let frees_at_once = frees_at_once.collect();
        Ok(Setup {
            version: parts.next().zip(parts.next()),
            policy: info.get("maxmemory_policy").unwrap_or_default(),
            appends,
            fsyncs: config.remove("appendfsync"),
            frees_at_once,
            last_write_failed: info.get::<String>("aof_last_write_status").as_deref()
                == Some("err"),
        })
    }
}

impl Setup {
    fn warnings(&self, waits_for_fsync: bool) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if let Some((major, minor)) = self.version.filter(|version| *version < OLDEST) {
            warnings.push(format!(
                "Redis {major}.{minor} is too old: likes cannot be changed; use 7.0 or later, or Valkey"
            ));
        }
        if self.policy.starts_with("allkeys") {
            warnings.push(format!(
                "maxmemory-policy is {}: Redis may evict likes that SQL does not have yet, and they are lost for good; use volatile-ttl or noeviction",
                self.policy
            ));
        }
        if self.appends == Some(false) {
            warnings.push("appendonly is no: a restart of Redis loses all likes since its last snapshot that SQL does not have yet; use appendonly yes".to_owned());
        } else if self.last_write_failed {
            warnings.push("the append-only file cannot be written: likes are refused, or lost at a restart of Redis; look at its disk".to_owned());
        } else if self.fsyncs.as_deref() == Some("no") {
            warnings.push("appendfsync is no: a power cut of Redis' machine loses half a minute of likes, of which SQL usually has all but the last second; use everysec or always".to_owned());
        } else if waits_for_fsync && self.fsyncs.is_none() {
            warnings.push("LIKEWISE_DURABILITY is fsync, and Redis does not tell its appendfsync: make sure that it is always, or a power cut may lose likes that were acknowledged".to_owned());
        }
        if !self.frees_at_once.is_empty() {
            let names = self.frees_at_once.join(" and ");
            let are = if self.frees_at_once.len() == 1 {
                "is"
            } else {
                "are"
            };
            warnings.push(format!(
                "{names} {are} no: Redis stops while it frees a set that expires or is evicted, a sixth of a second for a million likers; use yes"
            ));
        }
        warnings
    }

    fn hindrance(&self) -> Option<&'static str> {
        if self
            .version
            .is_some_and(|version| version < OLDEST_WITH_FSYNC)
        {
            return Some("is fsync, which needs Redis 7.2 or newer, or Valkey; this one is older");
        }
        if self.appends == Some(false) {
            return Some("is fsync, which needs appendonly yes in Redis; it is no");
        }
        // Some releases answer WAITAOF before the second is over and anything fsynced.
        match self.fsyncs.as_deref() {
            Some("no") => Some(
                "is fsync, but appendfsync is no in Redis, so that nothing is ever fsynced; use always",
            ),
            Some("everysec") => Some(
                "is fsync, but appendfsync is everysec in Redis, under which some releases say too early that a change is on the disk; use always",
            ),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Setup {
        Setup {
            version: Some((7, 2)),
            policy: "volatile-ttl".to_owned(),
            appends: Some(true),
            fsyncs: Some("always".to_owned()),
            frees_at_once: Vec::new(),
            last_write_failed: false,
        }
    }

    #[test]
    fn each_risky_setting_is_named_with_what_it_risks() {
        assert_eq!(good().warnings(true), [""; 0]);
        assert_eq!(good().hindrance(), None);
        let says = |setup: Setup, waits, word: &str| {
            let warnings = setup.warnings(waits);
            assert!(
                warnings.len() == 1 && warnings[0].contains(word),
                "{warnings:?}"
            );
        };
        let text = |it: &str| Some(it.to_owned());
        says(
            Setup {
                version: Some((6, 2)),
                ..good()
            },
            false,
            "too old",
        );
        says(
            Setup {
                policy: "allkeys-lru".to_owned(),
                ..good()
            },
            false,
            "lost for good",
        );
        says(
            Setup {
                appends: Some(false),
                ..good()
            },
            false,
            "appendonly is no",
        );
        says(
            Setup {
                last_write_failed: true,
                ..good()
            },
            false,
            "disk",
        );
        says(
            Setup {
                fsyncs: text("no"),
                ..good()
            },
            false,
            "half a minute",
        );
        says(
            Setup {
                fsyncs: None,
                ..good()
            },
            true,
            "does not tell its appendfsync",
        );
        says(
            Setup {
                frees_at_once: vec!["lazyfree-lazy-expire"],
                ..good()
            },
            false,
            "lazyfree-lazy-expire is no",
        );
        assert_eq!(
            Setup {
                fsyncs: text("everysec"),
                ..good()
            }
            .warnings(false),
            [""; 0]
        );
    }

    #[test]
    fn fsync_is_refused_where_redis_cannot_and_not_where_it_does_not_tell() {
        let silent = Setup {
            version: None,
            appends: None,
            fsyncs: None,
            ..good()
        };
        assert_eq!(silent.hindrance(), None);
        for setup in [
            Setup {
                version: Some((7, 0)),
                ..good()
            },
            Setup {
                appends: Some(false),
                ..good()
            },
            Setup {
                fsyncs: Some("no".to_owned()),
                ..good()
            },
            Setup {
                fsyncs: Some("everysec".to_owned()),
                ..good()
            },
        ] {
            assert!(setup.hindrance().is_some());
        }
    }
}
