//! What goes on longer than a request, and how it ends with the process.

use std::convert::Infallible;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config;
use crate::shutdown::Shutdown;

/// The longest wait for a client to hear that its socket ends.
const PATIENCE: Duration = Duration::from_secs(1);

/// Sockets and event streams of this process.
pub struct Live {
    pub(super) settings: config::Live,
    pub(super) stop: CancellationToken,
    pub(super) sockets: TaskTracker,
    pub(super) patience: Duration,
}

impl Live {
    /// Ends all of it when the end begins, and holds the process up until that is done.
    pub fn new(settings: &config::Live, shutdown: &Shutdown) -> Self {
        let live = Self {
            settings: settings.clone(),
            stop: shutdown.token(),
            sockets: TaskTracker::new(),
            // Twice in a row at worst: for a message under way, and for the farewell.
            patience: PATIENCE.min(shutdown.grace() / 4),
        };
        let (stop, sockets) = (live.stop.clone(), live.sockets.clone());
        shutdown.spawn("WebSockets", async move {
            stop.cancelled().await;
            sockets.close();
            sockets.wait().await;
            Ok::<_, Infallible>(())
        });
        live
    }
}
