//! One node on a Redis and a Postgres of its own, with data like that of real feeds.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use likewise::config::Secret;
use likewise::http::auth::{Grant, sign};
use tempfile::TempDir;

use crate::cpu;
use crate::servers::{Postgres, Redis, free_port};

const SECRET: &str = "a secret that only the benchmark knows of";
/// Users who toggle.
const TOGGLING: usize = 500;
const PATIENCE: Duration = Duration::from_secs(60);

pub struct World {
    pub folder: TempDir,
    pub url: String,
    pub database: String,
    pub users: u32,
    pub activities: u32,
    likes: u32,
    /// Global ids of activities.
    pub ids: Vec<String>,
    pub tokens: Vec<String>,
    node: Child,
    redis: Redis,
    postgres: Postgres,
}

impl World {
    pub fn start(size: &[String]) -> Self {
        let mut folder = tempfile::Builder::new();
        let redis = Redis::start_with(&[
            "--appendonly",
            "yes",
            "--lazyfree-lazy-expire",
            "yes",
            "--lazyfree-lazy-eviction",
            "yes",
        ]);
        let postgres =
            Postgres::start(&["shared_buffers=256MB", "fsync=on", "full_page_writes=on"]);
        let database = postgres.url("postgres");
        let run = |arguments: &[&str]| {
            let status = likewise(&database, &redis.url())
                .args(arguments)
                .stdout(Stdio::null())
                .status();
            assert!(status.unwrap().success(), "{arguments:?}");
        };
        run(&["migrate"]);
        run(&[
            "load",
            "--users",
            &size[0],
            "--activities",
            &size[1],
            "--likes",
            &size[2],
        ]);
        let port = free_port();
        let mut serve = likewise(&database, &redis.url());
        serve.arg("serve").env("LIKEWISE_LOG", "warn");
        // One user asks for as much as hundreds would.
        serve.env("LIKEWISE_RATE_LIMITS", "off");
        serve.env("LIKEWISE_LISTEN", format!("127.0.0.1:{port}"));
        serve.env(
            "LIKEWISE_METRICS_LISTEN",
            format!("127.0.0.1:{}", free_port()),
        );
        let [users, activities, likes] = [0, 1, 2].map(|place| size[place].parse().unwrap());
        let id = |key: u32| URL_SAFE_NO_PAD.encode(format!("Activity:{key}"));
        let world = Self {
            folder: folder.prefix("likewise-bench-").tempdir().unwrap(),
            url: format!("http://127.0.0.1:{port}"),
            database,
            users,
            activities,
            likes,
            ids: (1..=activities).map(id).collect(),
            tokens: (1..=TOGGLING).map(token).collect(),
            node: serve.spawn().unwrap(),
            redis,
            postgres,
        };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < PATIENCE, "the node does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        world
    }

    /// Seconds of CPU that the node, Redis and Postgres have used.
    pub fn cpu(&self) -> [f64; 3] {
        [self.node.id(), self.redis.pid(), self.postgres.pid()].map(cpu::seconds)
    }

    /// Waits until SQL has all likes.
    pub fn catch_up(&self) {
        let begun = Instant::now();
        while !self.caught_up() {
            assert!(begun.elapsed() < PATIENCE, "events still wait");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Mebibytes of the node.
    pub fn api_memory(&self) -> f64 {
        cpu::memory(self.node.id())
    }

    /// Mebibytes of all sets, once each is rebuilt, and bytes a like.
    pub fn sets_memory(&self) -> (f64, f64) {
        let mut connection = self.redis();
        let keys = self.sets();
        let bytes: u64 = keys
            .iter()
            .map(|key| {
                redis::cmd("MEMORY")
                    .arg("USAGE")
                    .arg(key)
                    .query::<u64>(&mut connection)
                    .unwrap()
            })
            .sum();
        #[expect(clippy::cast_precision_loss, reason = "bytes of demo data")]
        let bytes = bytes as f64;
        (bytes / 1_048_576.0, bytes / f64::from(self.likes))
    }

    /// The keys of all sets.
    pub fn sets(&self) -> Vec<String> {
        redis::cmd("KEYS")
            .arg("*:set:*")
            .query(&mut self.redis())
            .unwrap()
    }

    fn caught_up(&self) -> bool {
        let mut connection = self.redis();
        let streams: Vec<String> = redis::cmd("KEYS")
            .arg("*:events")
            .query(&mut connection)
            .unwrap();
        streams.iter().all(|key| {
            redis::cmd("XLEN")
                .arg(key)
                .query::<u64>(&mut connection)
                .unwrap()
                == 0
        })
    }

    fn redis(&self) -> redis::Connection {
        redis::Client::open(self.redis.url())
            .unwrap()
            .get_connection()
            .unwrap()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // Nothing is kept, so nothing has to end in order.
        drop(self.node.kill());
        drop(self.node.wait());
    }
}

fn likewise(database: &str, redis: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_likewise"));
    command
        .env("DATABASE_URL", database)
        .env("REDIS_URL", redis);
    command.env("LIKEWISE_JWT_SECRET", SECRET);
    command
}

fn token(number: usize) -> String {
    let subject = format!("demo-{number}");
    let grant = Grant {
        subject: &subject,
        name: None,
        picture: None,
        issuer: None,
        audience: None,
        issued_at: SystemTime::now(),
        ttl: Duration::from_hours(1),
    };
    sign(&Secret::from(SECRET.to_owned()), &grant).unwrap()
}
