//! Faults that systems like this one had, each kind as a test through the API. Numbers in comments are
//! those of the list of faults; the first of all, the race of the last like, is in `race.rs`.

/// Runs tests that take the kind of database on each of them.
macro_rules! on_both_databases {
    ($($name:ident,)+) => {
        mod on_postgres {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name(crate::store::Kind::Postgres).await;
                }
            )+
        }
        mod on_sqlite {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name(crate::store::Kind::Sqlite).await;
                }
            )+
        }
    };
}

mod changing;
mod costs;
mod garbage;
mod graphql;
mod killed;
mod lists;
mod nodes;
mod order;
mod outages;
mod pages;
mod rebuilds;
mod reconcile;
mod redelivery;
mod retries;
mod unknown;
mod viewers;
mod worker;
mod workers;
