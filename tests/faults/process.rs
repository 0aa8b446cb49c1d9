//! One process of the service, kept alive the way a supervisor does it.

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::servers::keeper::{Keeper, State};

/// Longer than the grace that a process has after SIGTERM.
const LONGEST_END: Duration = Duration::from_secs(15);
/// How often the supervisor looks, and so how long it waits before it starts a process again.
const LOOK: Duration = Duration::from_millis(250);

/// A process, running or meant to be down.
pub struct Process {
    pub name: &'static str,
    program: String,
    arguments: Vec<String>,
    // None: a fault has it down.
    keeper: Mutex<Option<Keeper>>,
    folder: TempDir,
    unasked: AtomicU32,
}

impl Process {
    pub fn start(name: &'static str, program: &str, arguments: Vec<String>) -> Self {
        let mut folder = tempfile::Builder::new();
        let process = Self {
            name,
            program: program.to_owned(),
            arguments,
            keeper: Mutex::new(None),
            folder: folder.prefix("likewise-process-").tempdir().unwrap(),
            unasked: AtomicU32::new(0),
        };
        process.start_again();
        process
    }

    /// Starts it after it was ended on purpose.
    pub fn start_again(&self) {
        *self.keeper.lock().unwrap() = Some(self.spawn());
    }

    /// Ends it without warning.
    pub fn kill(&self) {
        let keeper = self.keeper.lock().unwrap().take();
        keeper.unwrap().end("KILL");
    }

    /// Asks it to end and waits; false if it does not, and is killed.
    pub fn terminate(&self) -> bool {
        let mut keeper = self.keeper.lock().unwrap().take().unwrap();
        keeper.send("TERM");
        let asked = Instant::now();
        while keeper.state() != State::Ended && asked.elapsed() < LONGEST_END {
            std::thread::sleep(Duration::from_millis(10));
        }
        let ended = keeper.state() == State::Ended;
        keeper.end("KILL");
        ended
    }

    /// Holds it still, or lets it go on.
    pub fn signal(&self, signal: &str) {
        if let Some(keeper) = self.keeper.lock().unwrap().as_mut() {
            keeper.send(signal);
        }
    }

    /// How often it has ended by itself.
    pub fn unasked(&self) -> u32 {
        self.unasked.load(Ordering::Relaxed)
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        let log = std::fs::read(self.folder.path().join("log"));
        String::from_utf8_lossy(&log.unwrap_or_default()).into_owned()
    }

    /// Starts it again whenever it ends by itself, as it may when it is started while SQL is away.
    pub async fn supervise(&self) {
        loop {
            tokio::time::sleep(LOOK).await;
            let mut keeper = self.keeper.lock().unwrap();
            let ended = keeper.take_if(|keeper| keeper.state() == State::Ended);
            if let Some(ended) = ended {
                self.unasked.fetch_add(1, Ordering::Relaxed);
                ended.end("KILL");
                *keeper = Some(self.spawn());
            }
        }
    }

    fn spawn(&self) -> Keeper {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        Keeper::start(self.folder.path(), "KILL", &command)
    }
}
