//! SQLite: one writer at a time, and a transaction that first reads and then writes is refused at once.

use std::time::{Duration, Instant};

use sqlx::{Connection, SqliteConnection};

use crate::store::{Kind, World, connect, identity};

const UPDATE: &str = "UPDATE like_checkpoints SET last_id = last_id || '0' WHERE partition = 0";
const READ: &str = "SELECT count(*) FROM users";

async fn raw(world: &World) -> SqliteConnection {
    SqliteConnection::connect(&world.address).await.unwrap()
}

async fn run(connection: &mut SqliteConnection, statement: &'static str) -> sqlx::Result<()> {
    sqlx::raw_sql(statement).execute(connection).await.map(drop)
}

#[tokio::test]
async fn a_naive_transaction_that_reads_first_is_refused_without_waiting() {
    let world = World::new(Kind::Sqlite).await;
    let (mut one, mut other) = (raw(&world).await, raw(&world).await);
    let mut naive = one.begin().await.unwrap();
    let read: i64 = sqlx::query_scalar(READ)
        .fetch_one(&mut *naive)
        .await
        .unwrap();
    assert_eq!(read, 0);
    run(&mut other, UPDATE).await.unwrap();
    let begun = Instant::now();
    let refused = run(&mut naive, UPDATE).await.unwrap_err().to_string();
    assert!(refused.contains("locked"), "{refused}");
    assert!(begun.elapsed() < Duration::from_secs(2), "it waited");
}

#[tokio::test]
async fn writers_of_several_processes_wait_for_each_other() {
    let world = World::new(Kind::Sqlite).await;
    let stores = [connect(&world.address, 4), connect(&world.address, 4)];
    let writes = (0..100).map(|number| {
        let store = stores[number % 2].clone();
        async move {
            store
                .ensure_user(&identity(&format!("user {number}")))
                .await
        }
    });
    for written in futures::future::join_all(writes).await {
        written.unwrap();
    }
    assert_eq!(world.number(READ).await, 100);
}

#[tokio::test]
async fn readers_go_on_while_somebody_writes() {
    let world = World::new(Kind::Sqlite).await;
    let activity = world.activity().await;
    let mut writer = raw(&world).await;
    for statement in ["BEGIN IMMEDIATE", UPDATE] {
        run(&mut writer, statement).await.unwrap();
    }
    let begun = Instant::now();
    assert_eq!(world.state(activity, None).await.count, 0);
    assert!(begun.elapsed() < Duration::from_secs(2), "a reader waited");
    run(&mut writer, "ROLLBACK").await.unwrap();
    let journal: String = sqlx::query_scalar("PRAGMA journal_mode")
        .fetch_one(&mut writer)
        .await
        .unwrap();
    assert_eq!(journal, "wal");
}
