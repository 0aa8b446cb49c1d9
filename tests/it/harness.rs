//! What the other tests rely on.

use std::net::TcpStream;

use sqlx::{Connection, PgConnection};

use crate::servers::{Postgres, Redis, Stop};

#[tokio::test]
async fn a_durable_redis_keeps_its_data_over_a_kill_and_a_restart() {
    let mut redis = Redis::start_durable();
    let client = redis::Client::open(redis.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut set = redis::cmd("SET");
    set.arg("key").arg("value");
    set.exec_async(&mut connection).await.unwrap();
    redis.kill();
    redis.start_again();
    redis.restart();
    assert!(redis.folder().join("appendonlydir").is_dir());
    redis.freeze();
    redis.thaw();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut get = redis::cmd("GET");
    let value: String = get.arg("key").query_async(&mut connection).await.unwrap();
    assert_eq!(value, "value");
}

#[tokio::test]
async fn two_redis_do_not_know_each_other() {
    let (one, other) = (Redis::start(), Redis::start());
    assert_ne!(one.port(), other.port());
}

#[tokio::test]
async fn a_postgres_keeps_its_data_over_a_crash_and_a_restart() {
    let mut postgres = Postgres::start(&[]);
    let url = postgres.url("postgres");
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let create = sqlx::raw_sql("CREATE TABLE t AS SELECT 7 AS n");
    create.execute(&mut connection).await.unwrap();
    for how in [Stop::Immediate, Stop::Fast] {
        postgres.stop(how);
        assert!(TcpStream::connect(("127.0.0.1", postgres.port())).is_err());
        postgres.start_again();
    }
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let number = sqlx::query_scalar("SELECT n FROM t").fetch_one(&mut connection);
    let number: i32 = number.await.unwrap();
    assert_eq!(number, 7);
}
