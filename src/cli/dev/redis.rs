//! A private Redis for one machine: a child process that only this user can reach, over a socket in
//! the data folder.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

/// Whichever is there; both speak the same protocol.
const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];
/// How long it may take to read its append-only file.
const START: Duration = Duration::from_secs(30);
/// How long it may take to write its last bytes.
const STOP: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);
/// The longest path of a socket that all Unix systems take.
const SOCKET_PATH_BYTES: usize = 100;

/// Why there is no Redis.
#[derive(Debug, thiserror::Error)]
pub enum RedisError {
    /// No program of that kind is installed.
    #[error(
        "neither redis-server nor valkey-server is installed: install one, run `make dev`, or set REDIS_URL"
    )]
    NotInstalled,
    /// The path is too long for a socket.
    #[error("the path {0} is too long for a socket: choose a shorter LIKEWISE_DATA")]
    LongPath(PathBuf),
    /// The folder cannot be used, or the program cannot be run.
    #[error("Redis cannot be started in {0}")]
    Start(PathBuf, #[source] io::Error),
    /// It runs but does not answer, or has ended at once.
    #[error("Redis was started but does not answer; its log is {0}")]
    Silent(PathBuf),
}

/// The child process.
pub struct PrivateRedis {
    child: Child,
    client: redis::Client,
    url: String,
}

impl PrivateRedis {
    /// Starts Redis on data in `folder`, and waits until it answers.
    pub async fn start(folder: &Path) -> Result<Self, RedisError> {
        let failed = |error| RedisError::Start(folder.to_owned(), error);
        std::fs::create_dir_all(folder).map_err(failed)?;
        let folder = folder.canonicalize().map_err(failed)?;
        let socket = folder.join("redis.sock");
        if socket.as_os_str().len() > SOCKET_PATH_BYTES {
            return Err(RedisError::LongPath(socket));
        }
        let url = format!("redis+unix://{}", socket.display());
        let log = folder.join("redis.log");
        let client =
            redis::Client::open(url.as_str()).map_err(|_| RedisError::LongPath(socket.clone()))?;
        // A predecessor that was killed may have left its Redis running on this very data.
        shut_down(&client).await;
        let mut redis = Self {
            child: spawn(&folder, &socket, &log)
                .map_err(failed)?
                .ok_or(RedisError::NotInstalled)?,
            client,
            url,
        };
        if redis.answers().await {
            Ok(redis)
        } else {
            Err(RedisError::Silent(log))
        }
    }

    /// Where it can be reached.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Ends it, its data written.
    pub async fn stop(mut self) {
        shut_down(&self.client).await;
        if timeout(STOP, self.child.wait()).await.is_err() {
            tracing::warn!("Redis did not end in time and is killed");
            drop(self.child.kill().await);
        }
    }

    async fn answers(&mut self) -> bool {
        let deadline = Instant::now() + START;
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            if ping(&self.client).await.is_ok() {
                return true;
            }
            sleep(PAUSE).await;
        }
        false
    }
}

fn spawn(folder: &Path, socket: &Path, log: &Path) -> io::Result<Option<Child>> {
    for program in PROGRAMS {
        let child = Command::new(program)
            .args(["--port", "0", "--unixsocketperm", "700", "--unixsocket"])
            .arg(socket)
            .arg("--dir")
            .arg(folder)
            .arg("--logfile")
            .arg(log)
            .args([
                "--appendonly",
                "yes",
                "--save",
                "",
                "--maxmemory-policy",
                "volatile-ttl",
            ])
            // Sets may be big.
            .args([
                "--lazyfree-lazy-expire",
                "yes",
                "--lazyfree-lazy-eviction",
                "yes",
            ])
            .args(["--daemonize", "no"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C reaches all processes of the terminal's group, and Redis has to end last.
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        match child {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            child => return child.map(Some),
        }
    }
    Ok(None)
}

async fn ping(client: &redis::Client) -> redis::RedisResult<()> {
    let mut connection = client.get_multiplexed_async_connection().await?;
    redis::cmd("PING").query_async(&mut connection).await
}

/// Asks whoever listens to end, and waits until nobody does.
async fn shut_down(client: &redis::Client) {
    let Ok(mut connection) = client.get_multiplexed_async_connection().await else {
        return;
    };
    let _: redis::RedisResult<()> = redis::cmd("SHUTDOWN").query_async(&mut connection).await;
    let deadline = Instant::now() + STOP;
    while Instant::now() < deadline && ping(client).await.is_ok() {
        sleep(PAUSE).await;
    }
}
