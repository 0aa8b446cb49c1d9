//! The program as a process.

use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{ChildStderr, Command};

use super::scene::Scene;

/// Longer than anything here takes on a machine under load.
const PATIENCE: Duration = Duration::from_mins(1);
const SIGABRT: i32 = 6;

/// A process, whose log is read.
pub struct Child {
    /// Where it serves; None if it ended before.
    pub api: Option<SocketAddr>,
    process: tokio::process::Child,
    log: Lines<BufReader<ChildStderr>>,
    /// Lines that came when nothing was waited for but the end.
    pub last_words: Vec<String>,
    ended: Option<ExitStatus>,
}

impl Child {
    /// Starts a command, to crash at a point, and waits until it serves or has ended.
    pub async fn start(
        scene: &Scene,
        command: &str,
        arguments: &[&str],
        point: Option<&str>,
    ) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_likewise"));
        program
            .arg(command)
            .args(arguments)
            .args(scene.arguments(command));
        program.env("LIKEWISE_LOG_FORMAT", "json");
        if let Some(point) = point {
            program.env("LIKEWISE_FAULT_POINT", point);
        }
        program.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = program.kill_on_drop(true).spawn().unwrap();
        let log = BufReader::new(process.stderr.take().unwrap()).lines();
        let mut child = Self {
            api: None,
            process,
            log,
            last_words: Vec::new(),
            ended: None,
        };
        while command == "serve" && child.api.is_none() {
            let Some(line) = child.log.next_line().await.unwrap() else {
                break;
            };
            child.last_words.push(line.clone());
            let line: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
            child.api = line["api"].as_str().map(|api| api.parse().unwrap());
        }
        child
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        self.ended = self.ended.or(self.process.try_wait().unwrap());
        self.ended.is_none()
    }

    /// Asks it to end and waits for that.
    pub async fn end(&mut self) {
        if self.runs() {
            let id = self.process.id().unwrap().to_string();
            let kill = Command::new("kill").args(["-TERM", &id]).status().await;
            assert!(kill.is_ok());
        }
        self.wait().await;
    }

    /// Waits for its end, reading its log so that it is not held up.
    pub async fn wait(&mut self) {
        let ended = async {
            while let Ok(Some(line)) = self.log.next_line().await {
                self.last_words.push(line);
            }
            self.process.wait().await.unwrap()
        };
        let ended = tokio::time::timeout(PATIENCE, ended).await;
        self.ended = Some(ended.expect("a process does not end"));
    }

    pub fn has_crashed(&self) -> bool {
        self.ended.and_then(|it| it.signal()) == Some(SIGABRT)
    }

    pub fn code(&self) -> Option<i32> {
        self.ended?.code()
    }
}
