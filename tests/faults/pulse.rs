//! How much time the machine has for the run. Beside a build, everything comes late, the service as well
//! as the run; that is nobody's fault, and must not be taken for one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Between two beats.
const BEAT: Duration = Duration::from_millis(20);
/// So late is every beat of a machine that has nothing else to do.
const USUAL: Duration = Duration::from_millis(5);

/// A heart that notes how late its beats are.
#[derive(Debug, Clone, Default)]
pub struct Pulse(Arc<AtomicU64>);

impl Pulse {
    /// Begins to beat, for as long as the runtime lives.
    pub fn start() -> Self {
        let pulse = Self::default();
        let late = Arc::clone(&pulse.0);
        tokio::spawn(async move {
            loop {
                let begun = Instant::now();
                sleep(BEAT).await;
                let lateness = begun.elapsed().saturating_sub(BEAT + USUAL);
                let lateness = u64::try_from(lateness.as_micros()).unwrap_or_default();
                late.fetch_add(lateness, Ordering::Relaxed);
            }
        });
        pulse
    }

    /// How much time the run has waited in vain for the machine.
    pub fn late(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }
}
