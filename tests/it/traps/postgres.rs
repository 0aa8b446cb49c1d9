//! sqlx on Postgres: `begin` that is dropped after `BEGIN` was sent gives a connection with an open
//! transaction back to the pool, and what is written on it next is never committed.

use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, PgPool};

use super::dropped_after;
use crate::service::{Service, eventually, key_of, user};
use crate::store::{Kind, World};

/// Enough polls to have sent `BEGIN`, and to have finished.
const POLLS: usize = 16;

async fn naive(world: &World) -> PgPool {
    let pool = PgPoolOptions::new().max_connections(1);
    pool.connect(&world.address).await.unwrap()
}

#[tokio::test]
async fn a_naive_pool_loses_a_write_after_a_begin_was_dropped() {
    let world = World::new(Kind::Postgres).await;
    let mut lost = 0;
    // How far each poll gets depends on how fast the server answers.
    for attempt in 0..200 {
        let polls = attempt % POLLS + 1;
        let pool = naive(&world).await;
        dropped_after(polls, pool.begin()).await;
        let name = format!("INSERT INTO users (subject, name) VALUES ('{attempt}', 'x')");
        let written = sqlx::query(AssertSqlSafe(name))
            .execute(&pool)
            .await
            .unwrap();
        assert_eq!(written.rows_affected(), 1, "it was acknowledged");
        pool.close().await;
        let count = format!("SELECT count(*) FROM users WHERE subject = '{attempt}'");
        lost += 1 - world.number(&count).await;
        if lost > 0 {
            break;
        }
    }
    assert!(lost > 0, "sqlx has been mended: `after_release` can go");
}

#[tokio::test]
async fn no_write_is_lost_after_any_request_was_dropped() {
    let service = Service::start_with(
        Kind::Postgres,
        crate::servers::Redis::start(),
        &["--database-connections", "1"],
    )
    .await;
    let store = service.node.app.store();
    let likes = service.node.app.likes();
    let author = service.world.user("author").await;
    for polls in 1..POLLS {
        let activity = key_of(&service.activity().await);
        // A read and a write that begin transactions, as a client's disconnect drops them.
        let page = crate::store::first(1);
        let query = likewise::store::RowsQuery {
            activities: &[activity],
            ..Default::default()
        };
        dropped_after(polls, store.likers(&query, &page)).await;
        dropped_after(polls, store.recount(activity)).await;
        let kept = key_of(&service.activity().await);
        let rows = format!("SELECT count(*) FROM activities WHERE id = {kept}");
        assert_eq!(service.world.number(&rows).await, 1, "after {polls} polls");

        // What began to be deleted is deleted in SQL and in Redis, whether or not somebody waits for it.
        service
            .like(&user("Ada"), &crate::service::id_of(kept.get()))
            .await;
        service.persist().await;
        dropped_after(1, likes.delete_activity(kept, author)).await;
        let set = service.redis_key("set", &crate::service::id_of(kept.get()));
        eventually("it is deleted", async || {
            let exists: bool = service.redis(&["EXISTS", &set]).await;
            service.world.number(&rows).await == 0 && !exists
        })
        .await;
    }
}
