//! Everything that is started for a run: servers, wires, processes, and whom and what the clients know.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use likewise::config::Secret;
use likewise::domain::Partitions;
use likewise::http::auth::{Grant, sign};
use redis::aio::MultiplexedConnection;
use sqlx::{Connection, PgConnection};
use tokio::sync::Mutex;

use crate::api::{Api, User};
use crate::arguments::{Arguments, Fsync};
use crate::plan::{NODES, REDIS, SQL};
use crate::process::Process;
use crate::proxy::Proxy;
use crate::pulse::Pulse;
use crate::record::Micros;
use crate::servers::{Postgres, Redis, free_port};

const SECRET: &str = "a secret that only the fault run knows of";
/// As by default.
pub const PARTITIONS: u16 = 16;
/// Short enough for sets to expire by themselves in the middle of a run.
const CACHE_TTL: &str = "20s";
/// Longer than a client goes on with one key, short enough to be no more than a part of Redis' memory.
const IDEMPOTENCY_TTL: &str = "2m";
/// Nothing here takes longer unless it is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// The service and what it stands on.
pub struct World {
    pub redis: Mutex<Redis>,
    pub postgres: Mutex<Postgres>,
    /// API nodes, then workers.
    pub processes: Vec<Process>,
    /// Of each process, to Redis and to Postgres.
    pub wires: Vec<[Proxy; 2]>,
    pub api: Api,
    pub clock: Clock,
    pub pulse: Pulse,
    redis_url: String,
    sql_url: String,
}

/// The run's own clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Instant);

impl Clock {
    pub fn now(self) -> Micros {
        u64::try_from(self.0.elapsed().as_micros()).unwrap()
    }
}

/// Whom and what the clients know; an operation names them by their places here.
pub struct Cast {
    pub users: Vec<User>,
    /// Global ids.
    pub activities: Vec<String>,
    /// The keys behind them.
    pub user_keys: Vec<i64>,
    pub activity_keys: Vec<i64>,
}

impl World {
    /// Starts everything; answers when both nodes are ready.
    pub async fn start(arguments: &Arguments) -> Self {
        let fsync = arguments.fsync.name();
        // A low limit has the file rewritten in the middle of the run, too.
        let settings = ["--appendonly", "yes", "--appendfsync", fsync];
        let rewrite = ["--auto-aof-rewrite-min-size", "8mb"];
        let redis = Redis::start_in(
            &folder_of_files(arguments.fsync),
            &[&settings[..], &rewrite[..]].concat(),
        );
        let postgres = Postgres::start(&[]);
        let (redis_url, sql_url) = (redis.url(), postgres.url("postgres"));
        let program = program();
        let migrated = Command::new(&program)
            .args([
                "migrate",
                "--database-url",
                &sql_url,
                "--redis-url",
                &redis_url,
            ])
            .output()
            .unwrap();
        assert!(migrated.status.success(), "{migrated:?}");

        let (mut processes, mut wires, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
        for (place, name) in ["node-1", "node-2", "worker-1", "worker-2"]
            .into_iter()
            .enumerate()
        {
            let pair = [
                Proxy::to(redis.port()).await,
                Proxy::to(postgres.port()).await,
            ];
            let mut of_process = settings_of(&pair);
            if NODES.contains(&place) {
                let port = free_port();
                nodes.push(port);
                of_process.insert(0, "serve".to_owned());
                of_process.extend(["--worker", "false", "--jwt-secret", SECRET].map(Into::into));
                of_process.extend(["--listen".to_owned(), format!("127.0.0.1:{port}")]);
            } else {
                of_process.insert(0, "worker".to_owned());
            }
            processes.push(Process::start(name, &program, of_process));
            wires.push(pair);
        }
        let world = Self {
            api: Api::new(&nodes),
            redis: Mutex::new(redis),
            postgres: Mutex::new(postgres),
            processes,
            wires,
            clock: Clock(Instant::now()),
            pulse: Pulse::start(),
            redis_url,
            sql_url,
        };
        let ready = tokio::time::timeout(PATIENCE, world.until_ready()).await;
        ready.expect("the service does not get ready");
        world
    }

    /// Returns when both nodes say that they are ready.
    pub async fn until_ready(&self) {
        for node in NODES {
            while !self.api.is_ready(node).await {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// Makes users and activities.
    pub async fn cast(&self, users: u16, activities: u16) -> Arc<Cast> {
        let users: Vec<User> = (0..users)
            .map(|number| user(&format!("user {number}")))
            .collect();
        let author = user("author");
        let mut ids = Vec::new();
        for number in 0..activities {
            ids.push(
                self.api
                    .create_activity(&author, &format!("activity {number}"))
                    .await,
            );
        }
        let mut user_keys = Vec::new();
        for user in &users {
            user_keys.push(key_of("User:", &self.api.viewer(user).await));
        }
        Arc::new(Cast {
            activity_keys: ids.iter().map(|id| key_of("Activity:", id)).collect(),
            users,
            activities: ids,
            user_keys,
        })
    }

    /// Commands for Redis itself, past all wires.
    pub async fn redis(&self) -> redis::RedisResult<MultiplexedConnection> {
        let config = redis::AsyncConnectionConfig::new()
            .set_connection_timeout(Some(Duration::from_secs(2)))
            .set_response_timeout(Some(Duration::from_secs(5)));
        let client = redis::Client::open(self.redis_url.as_str())?;
        client
            .get_multiplexed_async_connection_with_config(&config)
            .await
    }

    /// Statements for Postgres itself, past all wires.
    pub async fn sql(&self) -> sqlx::Result<PgConnection> {
        PgConnection::connect(&self.sql_url).await
    }

    /// The settings of a command of this service that goes past all wires.
    pub fn storage(&self) -> [&str; 4] {
        [
            "--database-url",
            &self.sql_url,
            "--redis-url",
            &self.redis_url,
        ]
    }
}

impl Cast {
    /// The place of a user or an activity by its key.
    pub fn user(&self, key: i64) -> Option<u16> {
        place(&self.user_keys, key)
    }

    pub fn activity(&self, key: i64) -> Option<u16> {
        place(&self.activity_keys, key)
    }
}

/// With an fsync before each answer, Redis is as fast as the disk, and beside a build that is not fast at
/// all. Nobody cuts the power here, so memory keeps what is written as well as a disk does.
fn folder_of_files(fsync: Fsync) -> PathBuf {
    let memory = Path::new("/dev/shm");
    if fsync == Fsync::Always && memory.is_dir() {
        return memory.to_owned();
    }
    std::env::temp_dir()
}

fn place(keys: &[i64], key: i64) -> Option<u16> {
    let place = keys.iter().position(|it| *it == key)?;
    u16::try_from(place).ok()
}

fn settings_of(wires: &[Proxy; 2]) -> Vec<String> {
    let redis = format!("redis://127.0.0.1:{}", wires[REDIS].port());
    let sql = format!(
        "postgres://likewise:secret@127.0.0.1:{}/postgres",
        wires[SQL].port()
    );
    let all = [
        ["--redis-url", &redis],
        ["--database-url", &sql],
        ["--cache-ttl", CACHE_TTL],
        ["--idempotency-ttl", IDEMPOTENCY_TTL],
        ["--metrics-listen", "127.0.0.1:0"],
        // Every request that a fault turns away is a line otherwise.
        ["--log", "warn"],
    ];
    all.concat().into_iter().map(Into::into).collect()
}

fn user(name: &str) -> User {
    let grant = Grant {
        subject: name,
        name: Some(name),
        picture: None,
        issuer: None,
        audience: None,
        issued_at: SystemTime::now(),
        ttl: Duration::from_hours(48),
    };
    User {
        token: sign(&Secret::from(SECRET.to_owned()), &grant).unwrap(),
    }
}

/// The key behind a global id.
pub fn key_of(kind: &str, id: &str) -> i64 {
    use base64::Engine;
    let text = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(id)
        .unwrap();
    let text = String::from_utf8(text).unwrap();
    text.strip_prefix(kind).unwrap().parse().unwrap()
}

/// The partitions of the service.
pub fn partitions() -> Partitions {
    Partitions(PARTITIONS.try_into().unwrap())
}

/// The program under test: what cargo has built, unless another is given.
pub fn program() -> String {
    let given = std::env::var("LIKEWISE_BIN");
    given.unwrap_or_else(|_| env!("CARGO_BIN_EXE_likewise").to_owned())
}
