//! Keeps a server for exactly as long as the tests want it.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Runs a server, hands it signals, and ends it and removes its folder when its own input ends. That
/// happens when the keeper is dropped, and also when the test process dies in whatever way: statics
/// are never dropped, and a killed process drops nothing.
const SCRIPT: &str = r#"
folder=$1 last=$2
shift 2
"$@" </dev/null >>"$folder/log" 2>&1 &
server=$!
while read -r signal then; do
    kill -s "$signal" "$server"
    if [ "$then" = wait ]; then
        wait "$server"
        exit
    fi
done
kill -s "$last" "$server"
wait "$server"
rm -rf "$folder"
"#;

/// A running server. Dropping it ends it.
pub struct Keeper(Child);

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
        keeper.stdout(Stdio::null()).stderr(Stdio::null());
        Self(keeper.stdin(Stdio::piped()).spawn().unwrap())
    }

    /// Hands the server a signal.
    pub fn send(&mut self, signal: &str) {
        writeln!(self.0.stdin.as_mut().unwrap(), "{signal}").unwrap();
    }

    /// Ends the server by a signal, waits for that, and leaves its folder.
    pub fn end(mut self, signal: &str) {
        self.send(&format!("{signal} wait"));
        self.0.wait().unwrap();
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // Nothing can be done about a failure while dropping.
        let _ = self.0.wait();
    }
}
