//! Whether Redis is there and set up so that it keeps what it is given.

use redis::InfoDict;

use super::{Cache, Result};

/// The oldest Redis with sharded channels and all commands that the scripts use.
const OLDEST: u64 = 7;

/// A setting of Redis that puts likes at risk: what is set and what it risks.
pub type Warning = String;

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

    /// What is risky in Redis' version, eviction policy and persistence. From `INFO`, which managed
    /// services allow where they forbid `CONFIG`.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn warnings(&self) -> Result<Vec<Warning>> {
        let mut connection = self.pool.connection().await?;
        let info: InfoDict = redis::cmd("INFO").query_async(&mut connection).await?;
        let mut warnings = Vec::new();
        let version: String = info.get("redis_version").unwrap_or_default();
        let major = version
            .split('.')
            .next()
            .and_then(|major| major.parse().ok());
        if major.is_some_and(|major: u64| major < OLDEST) {
            warnings.push(format!(
                "Redis {version} is too old: {OLDEST}.0 or later is needed"
            ));
        }
        let policy: String = info.get("maxmemory_policy").unwrap_or_default();
        if policy.starts_with("allkeys") {
            warnings.push(format!(
                "maxmemory-policy is {policy}: Redis may evict likes that SQL does not have yet; use volatile-ttl"
            ));
        }
        if info.get::<u8>("aof_enabled") == Some(0) {
            warnings.push(
                "appendonly is no: a restart of Redis loses all likes since its last snapshot that SQL does not have yet; use appendonly yes".to_owned(),
            );
        }
        Ok(warnings)
    }
}
