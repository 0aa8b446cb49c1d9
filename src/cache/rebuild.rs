//! Rebuilding a missing set from SQL under a lease.

use super::keys::{SENTINEL, member};
use super::{Cache, Error, Result};
use crate::domain::{ActivityId, Liker, Timestamp};

/// How long a lease holds without a sign of life: long enough for a slow page of SQL, short enough
/// for a dead rebuilder not to be missed.
const LEASE_MILLIS: u64 = 3_000;

/// The right to rebuild one set.
#[derive(Debug, Clone)]
pub struct Lease {
    activity: ActivityId,
    token: String,
}

/// The answer to a wish to rebuild.
#[derive(Debug, Clone)]
pub enum Begun {
    /// The set is there.
    Exists,
    /// Rebuild it.
    Granted(Lease),
    /// Events of this activity wait for the worker, so SQL alone is not right.
    Pending,
    /// Another rebuilder is at it.
    Held,
}

impl Cache {
    /// Takes the lease if the set is missing and nothing of it is pending.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn begin(&self, activity: ActivityId) -> Result<Begun> {
        let token = format!("{:016x}", rand::random::<u64>());
        let mut connection = self.pool.connection().await?;
        let answer: u8 = self
            .scripts
            .begin
            .key(self.keys.set(activity))
            .key(self.keys.pending(self.keys.partition(activity)))
            .key(self.keys.lease(activity))
            .arg(activity.get())
            .arg(SENTINEL)
            .arg(&token)
            .arg(LEASE_MILLIS)
            .invoke_async(&mut connection)
            .await?;
        match answer {
            0 => Ok(Begun::Exists),
            1 => Ok(Begun::Granted(Lease { activity, token })),
            2 => Ok(Begun::Pending),
            3 => Ok(Begun::Held),
            other => Err(Error::Unexpected(format!("answer {other} of begin"))),
        }
    }

    /// Adds a page of likers, at least one, to the set being rebuilt. False if the lease is lost.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn stage(&self, lease: &Lease, likers: &[Liker]) -> Result<bool> {
        let mut call = self.scripts.stage.prepare_invoke();
        call.key(self.keys.lease(lease.activity))
            .key(self.keys.staging(lease.activity, &lease.token))
            .arg(&lease.token)
            .arg(LEASE_MILLIS);
        for liker in likers {
            call.arg(liker.at.0).arg(member(liker.user));
        }
        let mut connection = self.pool.connection().await?;
        Ok(call.invoke_async(&mut connection).await?)
    }

    /// Puts the rebuilt set of so many likers into place, with an expiry. False if something has happened
    /// that it does not show.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn commit(
        &self,
        lease: &Lease,
        version: Option<Timestamp>,
        likers: i64,
    ) -> Result<bool> {
        let activity = lease.activity;
        let mut connection = self.pool.connection().await?;
        let committed = self
            .scripts
            .commit
            .key(self.keys.set(activity))
            .key(self.keys.pending(self.keys.partition(activity)))
            .key(self.keys.lease(activity))
            .key(self.keys.staging(activity, &lease.token))
            .arg(activity.get())
            .arg(SENTINEL)
            .arg(&lease.token)
            .arg(version.map_or(0, |version| version.0))
            .arg(self.expiry_millis())
            .arg(likers)
            .invoke_async(&mut connection)
            .await?;
        Ok(committed)
    }

    /// Gives the lease back without a set.
    ///
    /// # Errors
    /// Redis is away; the lease ends by itself soon.
    pub async fn abandon(&self, lease: &Lease) -> Result<()> {
        let mut connection = self.pool.connection().await?;
        let _: u8 = self
            .scripts
            .release
            .key(self.keys.lease(lease.activity))
            .key(self.keys.staging(lease.activity, &lease.token))
            .arg(&lease.token)
            .invoke_async(&mut connection)
            .await?;
        Ok(())
    }

    /// Forgets everything about a deleted activity.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn forget(&self, activity: ActivityId) -> Result<()> {
        let mut connection = self.pool.connection().await?;
        let _: u8 = self
            .scripts
            .forget
            .key(self.keys.set(activity))
            .key(self.keys.pending(self.keys.partition(activity)))
            .key(self.keys.lease(activity))
            .arg(activity.get())
            .invoke_async(&mut connection)
            .await?;
        Ok(())
    }
}
