//! What tests do to a database behind the store's back.

use std::time::Duration;

use futures::FutureExt;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, SqliteConnection};
use tokio::time::sleep;

use super::world::{Kind, World};

impl World {
    /// Runs a statement behind the store's back.
    pub async fn execute(&self, statement: &str) {
        let statement = sqlx::raw_sql(AssertSqlSafe(statement.to_owned()));
        match self.kind {
            Kind::Postgres => {
                let mut connection = PgConnection::connect(&self.address).await.unwrap();
                statement.execute(&mut connection).await.unwrap();
            }
            Kind::Sqlite => {
                let mut connection = SqliteConnection::connect(&self.address).await.unwrap();
                statement.execute(&mut connection).await.unwrap();
            }
        }
    }

    /// Does something while what a statement did behind the store's back is not committed yet.
    pub async fn before_commit<T>(&self, statement: &str, something: impl Future<Output = T>) -> T {
        let (begin, commit) = (format!("BEGIN; {statement}"), "COMMIT");
        let late = sleep(Duration::from_millis(300));
        match self.kind {
            Kind::Postgres => {
                let mut connection = PgConnection::connect(&self.address).await.unwrap();
                connection.execute(AssertSqlSafe(begin)).await.unwrap();
                let (done, committed) =
                    tokio::join!(something, late.then(|()| connection.execute(commit)));
                committed.unwrap();
                done
            }
            Kind::Sqlite => {
                let mut connection = SqliteConnection::connect(&self.address).await.unwrap();
                connection.execute(AssertSqlSafe(begin)).await.unwrap();
                let (done, committed) =
                    tokio::join!(something, late.then(|()| connection.execute(commit)));
                committed.unwrap();
                done
            }
        }
    }

    /// Asks for a number behind the store's back.
    pub async fn number(&self, statement: &str) -> i64 {
        let statement = AssertSqlSafe(statement.to_owned());
        match self.kind {
            Kind::Postgres => {
                let mut connection = PgConnection::connect(&self.address).await.unwrap();
                let number = sqlx::query_scalar(statement).fetch_one(&mut connection);
                number.await.unwrap()
            }
            Kind::Sqlite => {
                let mut connection = SqliteConnection::connect(&self.address).await.unwrap();
                let number = sqlx::query_scalar(statement).fetch_one(&mut connection);
                number.await.unwrap()
            }
        }
    }

    /// Asks for pairs of texts behind the store's back.
    pub async fn pairs(&self, statement: &str) -> Vec<(String, String)> {
        let statement = AssertSqlSafe(statement.to_owned());
        match self.kind {
            Kind::Postgres => {
                let mut connection = PgConnection::connect(&self.address).await.unwrap();
                let pairs = sqlx::query_as(statement).fetch_all(&mut connection);
                pairs.await.unwrap()
            }
            Kind::Sqlite => {
                let mut connection = SqliteConnection::connect(&self.address).await.unwrap();
                let pairs = sqlx::query_as(statement).fetch_all(&mut connection);
                pairs.await.unwrap()
            }
        }
    }

    /// The expression for a time in microseconds since 1970.
    pub fn micros(&self, column: &str) -> String {
        match self.kind {
            Kind::Postgres => format!("(extract(epoch from {column}) * 1000000)::bigint"),
            Kind::Sqlite => column.to_owned(),
        }
    }

    /// Lets the keys of new users and activities go on above a number.
    pub async fn continue_keys_after(&self, key: i64) {
        for table in ["users", "activities"] {
            let statement = match self.kind {
                Kind::Postgres => format!("SELECT setval('{table}_id_seq', {key})"),
                Kind::Sqlite => {
                    format!("INSERT INTO sqlite_sequence (name, seq) VALUES ('{table}', {key})")
                }
            };
            self.execute(&statement).await;
        }
    }
}
