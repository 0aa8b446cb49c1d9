//! Private Postgres servers. The tests share one for the whole process, with a database for each test.

use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use likewise::store::{Options, open};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};
use tokio::sync::OnceCell;

use super::keeper::Keeper;
use super::{START, free_port, program, wait_until};

/// What new databases are copied from, because migrating each takes longer.
const TEMPLATE: &str = "migrated";

/// A database without tables.
pub async fn empty_database() -> String {
    create_database(&next_name(), "template1").await
}

/// A database with the schema of this program and no rows.
pub async fn migrated_database() -> String {
    static MIGRATED: OnceCell<()> = OnceCell::const_new();
    MIGRATED.get_or_init(make_template).await;
    create_database(&next_name(), TEMPLATE).await
}

async fn make_template() {
    let address = create_database(TEMPLATE, "template1").await;
    let options = Options {
        connections: 1,
        patience: START,
    };
    let store = open(&address, &options).unwrap();
    store.migrate().await.unwrap();
}

async fn create_database(name: &str, template: &str) -> String {
    let server = server();
    let mut connection = PgConnection::connect(&server.url("postgres"))
        .await
        .unwrap();
    let statement = format!("CREATE DATABASE {name} TEMPLATE {template}");
    let statement = sqlx::raw_sql(AssertSqlSafe(statement));
    statement.execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    server.url(name)
}

fn next_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("test{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

fn server() -> &'static Postgres {
    static SERVER: OnceLock<Postgres> = OnceLock::new();
    // Nothing here outlives the process, so nothing needs to survive a crash.
    SERVER.get_or_init(|| Postgres::start(&["synchronous_commit=off"]))
}

/// A Postgres that keeps its port and its folder over restarts.
pub struct Postgres {
    port: u16,
    // The keeper removes it; a static would never.
    folder: PathBuf,
    owner: Option<(u32, u32)>,
    settings: Vec<String>,
    keeper: Option<Keeper>,
}

/// How Postgres ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Rolls back what is under way and leaves everything in order.
    Fast,
    /// Leaves everything as it is, as in a crash; the next start recovers from the log.
    Immediate,
}

impl Postgres {
    /// Starts one with settings, such as `["synchronous_commit=off"]`. It survives crashes of its own
    /// processes, but not a power loss: nobody will cut the power in the middle of the tests.
    pub fn start(settings: &[&str]) -> Self {
        let mut folder = tempfile::Builder::new();
        let folder = folder.prefix("likewise-postgres-").tempdir().unwrap();
        let folder = folder.keep();
        let owner = give_away(&folder);
        let mut initdb = run_as(owner, "initdb");
        initdb
            .arg("-D")
            .arg(folder.join("data"))
            .current_dir(&folder);
        initdb.args(["--username=likewise", "--auth=trust", "--encoding=UTF8"]);
        initdb.args(["--no-locale", "--no-sync"]);
        let made = initdb.output().unwrap();
        assert!(made.status.success(), "{made:?}");
        let mut postgres = Self {
            port: free_port(),
            folder,
            owner,
            settings: settings.iter().map(ToString::to_string).collect(),
            keeper: None,
        };
        postgres.start_again();
        postgres
    }

    /// The address of a database; `postgres` is always there.
    pub fn url(&self, database: &str) -> String {
        let port = self.port;
        format!("postgres://likewise:secret@127.0.0.1:{port}/{database}")
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        let keeper = self.keeper.as_ref().expect("Postgres is not running");
        keeper.pid().unwrap()
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// One of the programs that come with it.
    pub fn program(name: &str) -> PathBuf {
        program(&[name], &installed())
    }

    /// Ends it.
    pub fn stop(&mut self, how: Stop) {
        let keeper = self.keeper.take().expect("Postgres is not running");
        keeper.end(match how {
            Stop::Fast => "INT",
            Stop::Immediate => "QUIT",
        });
    }

    /// Starts it again after its end.
    pub fn start_again(&mut self) {
        assert!(self.keeper.is_none(), "Postgres is running");
        let mut postgres = run_as(self.owner, "postgres");
        postgres.arg("-D").arg(self.folder.join("data"));
        postgres.args(["-p", &self.port.to_string()]);
        let always = [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "max_connections=300",
            "fsync=off",
            "full_page_writes=off",
        ];
        for setting in always
            .into_iter()
            .chain(self.settings.iter().map(String::as_str))
        {
            postgres.args(["-c", setting]);
        }
        let ready = |log: &str| log.matches("ready to accept connections").count();
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let before = ready(&log);
        // QUIT ends it at once, but unlike KILL lets it give back its shared memory.
        self.keeper = Some(Keeper::start(&self.folder, "QUIT", &postgres));
        wait_until(&self.folder, |log| {
            ready(log) > before && TcpStream::connect(("127.0.0.1", self.port)).is_ok()
        });
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if self.keeper.is_none() {
            // Nothing can be done about a failure while dropping.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// Postgres refuses to run as root: then the folder and the processes go to another user.
fn give_away(folder: &Path) -> Option<(u32, u32)> {
    if folder.metadata().unwrap().uid() != 0 {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let entry = |user: &str| {
        let line = users.lines().find(|line| line.starts_with(user))?;
        let mut fields = line.split(':').skip(2);
        let mut id = || fields.next()?.parse::<u32>().ok();
        Some((id()?, id()?))
    };
    let (user, group) = entry("postgres:").or_else(|| entry("nobody:")).unwrap();
    chown(folder, Some(user), Some(group)).unwrap();
    Some((user, group))
}

fn run_as(owner: Option<(u32, u32)>, name: &str) -> Command {
    let program = program(&[name], &installed());
    let Some((user, group)) = owner else {
        return Command::new(program);
    };
    let mut command = Command::new("setpriv");
    command.arg(format!("--reuid={user}"));
    command.arg(format!("--regid={group}"));
    command.arg("--clear-groups").arg(program);
    command
}

/// Where Debian puts the programs, newest version first.
fn installed() -> Vec<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let mut folders: Vec<PathBuf> = versions
        .filter_map(|version| Some(version.ok()?.path().join("bin")))
        .collect();
    folders.sort();
    folders.reverse();
    folders
}
