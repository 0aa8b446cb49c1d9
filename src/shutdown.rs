//! The end of a process: a signal, work under way finishes, the process ends.

use std::error::Error as StdError;
use std::future::Future;
use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// After the second signal: enough to drop what a command holds, such as a child process.
const LAST_MOMENT: Duration = Duration::from_millis(500);
/// What shells report of a process that Ctrl-C ended.
const EXIT_INTERRUPTED: i32 = 130;

/// Why a process ended otherwise than asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A part of the process failed, so the others were stopped.
    #[error("the {0} failed")]
    Failed(&'static str, #[source] Box<dyn StdError + Send + Sync>),
    /// A part of the process ended though nobody had asked it to.
    #[error("the {0} stopped by itself")]
    Stopped(&'static str),
    /// A part of the process panicked; the log has the details.
    #[error("the {0} panicked")]
    Panicked(&'static str),
    /// Some work was cut off.
    #[error("work under way did not finish within {0:?} and was cut off")]
    TooSlow(Duration),
    /// A second signal cut work off.
    #[error("a second signal ended the process at once")]
    Forced,
}

/// Stops all parts of a process together. Clones share one state.
#[derive(Debug, Clone)]
pub struct Shutdown {
    stop: CancellationToken,
    at_once: CancellationToken,
    parts: TaskTracker,
    first_failure: Arc<Mutex<Option<Error>>>,
    grace: Duration,
}

impl Shutdown {
    /// Parts get `grace` to finish once the end has begun.
    pub fn new(grace: Duration) -> Self {
        Self {
            stop: CancellationToken::new(),
            at_once: CancellationToken::new(),
            parts: TaskTracker::new(),
            first_failure: Arc::default(),
            grace,
        }
    }

    /// Begins the end at SIGTERM or SIGINT; a second signal ends the process at once.
    ///
    /// # Errors
    /// The system refuses to tell of signals.
    pub fn on_signals(&self) -> io::Result<()> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let this = self.clone();
        tokio::spawn(async move {
            either(&mut terminate, &mut interrupt).await;
            tracing::info!(grace = ?this.grace, "stopping; a second signal ends at once");
            this.begin();
            either(&mut terminate, &mut interrupt).await;
            this.at_once.cancel();
            time::sleep(LAST_MOMENT).await;
            std::process::exit(EXIT_INTERRUPTED);
        });
        Ok(())
    }

    /// Begins the end.
    pub fn begin(&self) {
        self.stop.cancel();
    }

    /// What every part watches: cancelled when the end begins.
    pub fn token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// How long parts may take to finish.
    pub fn grace(&self) -> Duration {
        self.grace
    }

    /// Runs a part without which the process is of no use: when it fails, or ends unasked, all end.
    pub fn spawn<E>(
        &self,
        name: &'static str,
        part: impl Future<Output = Result<(), E>> + Send + 'static,
    ) where
        E: Into<Box<dyn StdError + Send + Sync>> + Send + 'static,
    {
        let this = self.clone();
        self.parts.spawn(async move {
            let failure = match AssertUnwindSafe(part).catch_unwind().await {
                Ok(Ok(())) if this.stop.is_cancelled() => return,
                Ok(Ok(())) => Error::Stopped(name),
                Ok(Err(error)) => Error::Failed(name, error.into()),
                Err(_) => Error::Panicked(name),
            };
            this.fail(failure);
            this.begin();
        });
    }

    /// Waits for the end to begin, and then for all parts to finish.
    ///
    /// # Errors
    /// A part failed, or did not finish in time.
    pub async fn finish(self) -> Result<(), Error> {
        self.stop.cancelled().await;
        self.parts.close();
        tokio::select! {
            () = self.parts.wait() => {}
            () = time::sleep(self.grace) => self.fail(Error::TooSlow(self.grace)),
            () = self.at_once.cancelled() => self.fail(Error::Forced),
        }
        let failure = self.first_failure.lock();
        let failure = failure.unwrap_or_else(PoisonError::into_inner).take();
        failure.map_or(Ok(()), Err)
    }

    /// The first failure is the cause; later ones follow from it.
    fn fail(&self, failure: Error) {
        let first = self.first_failure.lock();
        first
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(failure);
    }
}

async fn either(a: &mut Signal, b: &mut Signal) {
    tokio::select! {
        _ = a.recv() => {}
        _ = b.recv() => {}
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[tokio::test]
    async fn parts_finish_before_the_process_does() {
        let shutdown = Shutdown::new(Duration::from_secs(5));
        let token = shutdown.token();
        let (done, finished) = tokio::sync::oneshot::channel();
        shutdown.spawn("part", async move {
            token.cancelled().await;
            time::sleep(Duration::from_millis(20)).await;
            done.send(()).unwrap();
            Ok::<_, Infallible>(())
        });
        shutdown.begin();
        shutdown.finish().await.unwrap();
        finished.await.unwrap();
    }

    #[tokio::test]
    async fn a_part_that_fails_ends_the_others_and_is_named() {
        let shutdown = Shutdown::new(Duration::from_secs(5));
        let token = shutdown.token();
        shutdown.spawn("worker", async move {
            token.cancelled().await;
            Ok::<_, Infallible>(())
        });
        shutdown.spawn("API", async { Err(io::Error::other("port taken")) });
        let error = shutdown.finish().await.unwrap_err();
        assert_eq!(error.to_string(), "the API failed");
    }

    #[tokio::test]
    async fn a_part_that_ends_unasked_or_panics_is_a_failure() {
        let shutdown = Shutdown::new(Duration::from_secs(5));
        shutdown.spawn("worker", async { Ok::<_, Infallible>(()) });
        assert!(matches!(
            shutdown.finish().await,
            Err(Error::Stopped("worker"))
        ));

        let shutdown = Shutdown::new(Duration::from_secs(5));
        shutdown.spawn("worker", async {
            assert!(String::new().len() > 1, "on purpose");
            Ok::<_, Infallible>(())
        });
        assert!(matches!(
            shutdown.finish().await,
            Err(Error::Panicked("worker"))
        ));
    }

    #[tokio::test]
    async fn a_part_that_does_not_end_is_cut_off_after_the_grace() {
        let shutdown = Shutdown::new(Duration::from_millis(20));
        shutdown.spawn("worker", std::future::pending::<Result<(), Infallible>>());
        shutdown.begin();
        assert!(matches!(shutdown.finish().await, Err(Error::TooSlow(_))));
    }
}
