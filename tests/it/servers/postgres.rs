//! One Postgres for the whole test process, one database for each test.

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
    let port = server().port;
    let address = |name: &str| format!("postgres://likewise:secret@127.0.0.1:{port}/{name}");
    let mut connection = PgConnection::connect(&address("postgres")).await.unwrap();
    let statement = format!("CREATE DATABASE {name} TEMPLATE {template}");
    let statement = sqlx::raw_sql(AssertSqlSafe(statement));
    statement.execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    address(name)
}

fn next_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("test{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

struct Server {
    port: u16,
    _keeper: Keeper,
}

fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(start)
}

fn start() -> Server {
    // The keeper removes the folder; a static would never.
    let mut folder = tempfile::Builder::new();
    let folder = folder.prefix("likewise-postgres-").tempdir().unwrap();
    let folder = folder.keep();
    let owner = give_away(&folder);
    let data = folder.join("data");
    let mut initdb = run_as(owner, "initdb");
    initdb.arg("-D").arg(&data).current_dir(&folder);
    initdb.args(["--username=likewise", "--auth=trust", "--encoding=UTF8"]);
    initdb.args(["--no-locale", "--no-sync"]);
    let made = initdb.output().unwrap();
    assert!(made.status.success(), "{made:?}");

    let port = free_port();
    let mut postgres = run_as(owner, "postgres");
    postgres
        .arg("-D")
        .arg(&data)
        .args(["-p", &port.to_string()]);
    for setting in [
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "max_connections=300",
        // Nothing here outlives the process, so nothing needs to survive a power loss.
        "fsync=off",
        "full_page_writes=off",
        "synchronous_commit=off",
    ] {
        postgres.args(["-c", setting]);
    }
    // QUIT ends it at once, but unlike KILL lets it give back its shared memory.
    let keeper = Keeper::start(&folder, "QUIT", &postgres);
    wait_until(&folder, |log| {
        log.contains("ready to accept connections")
            && TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    Server {
        port,
        _keeper: keeper,
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
