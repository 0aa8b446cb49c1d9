//! The program itself, as a process of its own that can be killed.

use std::net::SocketAddr;
use std::process::Command;

use tempfile::TempDir;

use crate::servers::keeper::Keeper;
use crate::service::eventually;

/// A running process. Dropping it kills it; a panic in its log fails the test.
pub struct Program {
    // Before the folder, so that it is dropped before.
    keeper: Option<Keeper>,
    folder: TempDir,
}

impl Program {
    /// Starts a command of the program.
    pub fn start(command: &str, arguments: &[String]) -> Self {
        let mut folder = tempfile::Builder::new();
        let folder = folder.prefix("likewise-program-").tempdir().unwrap();
        let mut program = Command::new(env!("CARGO_BIN_EXE_likewise"));
        program.arg(command).args(arguments);
        let keeper = Some(Keeper::start(folder.path(), "KILL", &program));
        Self { keeper, folder }
    }

    /// What it has logged and printed so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// An address that it names when it is ready: `api` or `metrics`.
    pub async fn address(&self, name: &str) -> SocketAddr {
        let mut found = None;
        eventually("the process is ready", async || {
            let log = self.log();
            let text = log.split(&format!("{name}=")).nth(1);
            let text = text.and_then(|text| text.split([' ', '\n']).next());
            found = text.and_then(|text| text.parse().ok());
            found.is_some()
        })
        .await;
        found.unwrap()
    }

    /// Where it serves GraphQL.
    pub async fn url(&self) -> String {
        format!("http://{}/graphql", self.address("api").await)
    }

    /// Ends it without warning.
    pub fn kill(&mut self) {
        self.keeper.take().unwrap().end("KILL");
    }

    /// Asks it to end, and answers its exit code.
    pub async fn terminate(&mut self) -> i32 {
        self.ended("TERM").await
    }

    /// Waits until it ends by itself, and answers its exit code.
    pub async fn exit(&mut self) -> i32 {
        // A signal that does nothing.
        self.ended("0").await
    }

    async fn ended(&mut self, signal: &'static str) -> i32 {
        let keeper = self.keeper.take().unwrap();
        // A keeper blocks while it waits.
        let ended = tokio::task::spawn_blocking(move || keeper.end(signal));
        ended.await.unwrap();
        let code = std::fs::read_to_string(self.folder.path().join("code"));
        code.unwrap().trim().parse().unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let log = self.log();
        let is_calm = !log.contains("panicked") || std::thread::panicking();
        assert!(is_calm, "the process panicked: {log}");
    }
}
