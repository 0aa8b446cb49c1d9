//! Keeps a server for exactly as long as the tests want it.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Runs a server, hands it signals, and ends it and removes its folder when its own input ends. That
/// happens when the keeper is dropped, and also when the test process dies in whatever way: statics
/// are never dropped, and a killed process drops nothing.
const SCRIPT: &str = r#"
folder=$1 last=$2
shift 2
"$@" </dev/null >>"$folder/log" 2>&1 &
server=$!
echo "$server" >"$folder/pid"
while read -r signal then; do
    kill -s "$signal" "$server"
    if [ "$then" = wait ]; then
        wait "$server"
        echo $? >"$folder/code"
        exit
    fi
done
kill -s "$last" "$server"
wait "$server"
rm -rf "$folder"
"#;

/// A running server. Dropping it ends it.
pub struct Keeper {
    shell: Child,
    pid: PathBuf,
}

/// What a server is doing, as the system sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It runs, or is about to.
    Running,
    /// It is held still by a signal.
    Stopped,
    /// It has ended by itself.
    Ended,
}

impl Keeper {
    /// Starts a server whose output goes to `log` in the folder. `last` is the signal that ends it.
    pub fn start(folder: &Path, last: &str, server: &Command) -> Self {
        let mut keeper = Command::new("sh");
        keeper.args(["-c", SCRIPT, "keeper"]).arg(folder).arg(last);
        keeper.arg(server.get_program()).args(server.get_args());
        // A Ctrl-C for the tests must not reach the server before its keeper has removed the folder.
        keeper.process_group(0).current_dir(folder);
        // It outlives the tests for a moment, and has to say only which servers were killed, as some are
        // meant to be.
        keeper
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let pid = folder.join("pid");
        // Of a server that was here before.
        let _ = std::fs::remove_file(&pid);
        Self {
            shell: keeper.spawn().unwrap(),
            pid,
        }
    }

    /// The server's process, once the shell has started it.
    pub fn pid(&self) -> Option<u32> {
        let pid = std::fs::read_to_string(&self.pid).ok()?;
        pid.trim().parse().ok()
    }

    /// What the server is doing.
    pub fn state(&self) -> State {
        let Some(pid) = self.pid() else {
            return State::Running;
        };
        // The letter after the name in brackets. A zombie waits for its shell to ask for its end.
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let letter = status.rsplit_once(") ").and_then(|it| it.1.chars().next());
        match letter {
            None | Some('Z' | 'X') => State::Ended,
            Some('T' | 't') => State::Stopped,
            Some(_) => State::Running,
        }
    }

    /// Hands the server a signal.
    pub fn send(&mut self, signal: &str) {
        writeln!(self.shell.stdin.as_mut().unwrap(), "{signal}").unwrap();
    }

    /// Sends the server a signal, waits for its end, and leaves its folder with its exit code in `code`.
    pub fn end(mut self, signal: &str) {
        self.send(&format!("{signal} wait"));
        self.shell.wait().unwrap();
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // Nothing can be done about a failure while dropping.
        let _ = self.shell.wait();
    }
}
