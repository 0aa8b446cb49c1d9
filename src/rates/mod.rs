//! What callers do, counted by what it costs: reads by the values they may be answered with, changes one by one.
//!
//! A caller has an allowance that fills up at a steady rate. A request takes all it needs from it at once, before
//! anything of it is executed, or is refused and takes nothing.

mod process;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::cache::{Allowance, Cache};
use crate::config::{self, RateLimits};
use crate::domain::{Caller, Cost};
use crate::telemetry::RATE_LIMITED;
use process::Process;

/// The most that one request may cost: what its limits let pass, and its document.
const LEAST_READS: u32 = 50_000;
/// The most changes of one request.
const LEAST_CHANGES: u32 = 50;
/// How often callers are forgotten who have not come for a while.
const UPKEEP: Duration = Duration::from_secs(10);

/// Counts what callers do. Clones share one state.
#[derive(Clone)]
pub struct Rates {
    process: Option<Arc<Process>>,
    shared: Option<Shared>,
}

#[derive(Clone)]
struct Shared {
    cache: Arc<Cache>,
    reads: Allowance,
    changes: Allowance,
}

impl Rates {
    /// Everybody may do anything.
    pub fn off() -> Self {
        Self {
            process: None,
            shared: None,
        }
    }

    /// Counts as set.
    pub fn new(settings: &config::Rates, cache: &Arc<Cache>) -> Self {
        if settings.rate_limits == RateLimits::Off {
            return Self::off();
        }
        let allowance = |rate: NonZeroU32, least| Allowance {
            rate,
            burst: settings.burst(rate, least),
        };
        let reads = allowance(settings.read_rate, LEAST_READS);
        let changes = allowance(settings.change_rate, LEAST_CHANGES);
        let shared = (settings.rate_limits == RateLimits::Shared).then(|| Shared {
            cache: Arc::clone(cache),
            reads,
            changes,
        });
        Self {
            process: Some(Arc::new(Process::new(reads, changes))),
            shared,
        }
    }

    /// Takes from a caller's allowance what reading a request costs, whatever it holds. In this process only: it is
    /// what keeps the process from work.
    ///
    /// # Errors
    /// Too much was done of late: how long to wait.
    pub fn take_here(&self, caller: &Caller, cost: Cost) -> Result<(), Duration> {
        let Some(process) = &self.process else {
            return Ok(());
        };
        noted(process.take(&caller.name(), cost))
    }

    /// Takes from a caller's allowance what executing a request costs.
    ///
    /// # Errors
    /// Too much was done of late: how long to wait.
    pub async fn take(&self, caller: &Caller, cost: Cost) -> Result<(), Duration> {
        let Some(shared) = &self.shared else {
            return self.take_here(caller, cost);
        };
        let name = caller.name();
        let allowances = [(shared.reads, cost.reads), (shared.changes, cost.changes)];
        match shared.cache.spend(&name, allowances).await {
            Ok(answer) => noted(answer.map_or(Ok(()), Err)),
            // Counting must not take the service down; each process still counts by itself.
            Err(error) => {
                tracing::debug!(%error, "rate limits are counted by this process alone");
                self.take_here(caller, cost)
            }
        }
    }

    /// Forgets callers who have not come for a while, until the end begins.
    pub async fn keep_up(self, stop: CancellationToken) {
        let Some(process) = self.process else {
            return stop.cancelled().await;
        };
        let mut interval = tokio::time::interval(UPKEEP);
        while stop.run_until_cancelled(interval.tick()).await.is_some() {
            process.forget();
        }
    }
}

fn noted(answer: Result<(), Duration>) -> Result<(), Duration> {
    if answer.is_err() {
        metrics::counter!(RATE_LIMITED).increment(1);
    }
    answer
}
