//! How long Redis takes to answer anybody, while something big happens.

use std::fmt;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Time between two PINGs.
const PAUSE: Duration = Duration::from_millis(1);

/// PINGs on a connection of their own.
pub struct Pings {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Vec<Duration>>,
}

/// What they took.
pub struct Took(Vec<Duration>);

impl Pings {
    pub fn start(url: &str) -> Self {
        let client = redis::Client::open(url).unwrap();
        let (stop, mut stopped) = oneshot::channel();
        // A thread of its own: what the test process does must not count.
        let task = tokio::task::spawn_blocking(move || {
            let mut connection = client.get_connection().unwrap();
            let mut took = Vec::new();
            while stopped.try_recv().is_err() {
                let begun = Instant::now();
                redis::cmd("PING").exec(&mut connection).unwrap();
                took.push(begun.elapsed());
                std::thread::sleep(PAUSE);
            }
            took
        });
        Self { stop, task }
    }

    pub async fn end(self) -> Took {
        self.stop.send(()).unwrap();
        let mut took = self.task.await.unwrap();
        took.sort_unstable();
        Took(took)
    }
}

impl fmt::Display for Took {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |percent: usize| {
            let place = (self.0.len() * percent / 100).min(self.0.len().saturating_sub(1));
            self.0.get(place).copied().unwrap_or_default()
        };
        write!(
            f,
            "PING p50 {:.2?} p99 {:.2?} max {:.2?}",
            at(50),
            at(99),
            at(100)
        )
    }
}
