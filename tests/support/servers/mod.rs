//! Private servers for the tests: on free ports, with data folders of their own, gone afterwards.

pub mod keeper;
mod postgres;
mod redis;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use keeper::Keeper;
pub use postgres::{Postgres, Stop, empty_database, migrated_database};
pub use redis::Redis;

/// Machines under load start servers slowly; one that takes longer than this does not start.
const START: Duration = Duration::from_mins(1);

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Asks until the answer is yes; else shows what the server has logged in its folder.
fn wait_until(folder: &Path, mut ready: impl FnMut(&str) -> bool) {
    let begun = Instant::now();
    loop {
        let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        if ready(&log) {
            return;
        }
        assert!(begun.elapsed() < START, "a server did not start: {log}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The first of the programs that is installed, in one of the folders or in `PATH`.
fn program(names: &[&str], folders: &[PathBuf]) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path);
    let folders: Vec<PathBuf> = folders.iter().cloned().chain(in_path).collect();
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|program| program.is_file())
        .unwrap_or_else(|| panic!("the tests need one of {names:?} to be installed"))
}
