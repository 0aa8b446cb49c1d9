//! The race that started it all: the last like is removed, Redis drops the empty set, and the next read
//! rebuilds it from rows that the worker has not deleted yet.

use crate::service::{Details, Service, user};
use crate::store::Kind;

#[tokio::test]
async fn a_removed_last_like_stays_removed_on_postgres() {
    a_removed_last_like_stays_removed(Kind::Postgres).await;
}

#[tokio::test]
async fn a_removed_last_like_stays_removed_on_sqlite() {
    a_removed_last_like_stays_removed(Kind::Sqlite).await;
}

async fn a_removed_last_like_stays_removed(kind: Kind) {
    let service = Service::start(kind).await;
    let ada = user("Ada");
    let activity = service.activity().await;
    let liked = Details::of(&service.like(&ada, &activity).await["activity"]);
    assert_eq!((liked.count, liked.liked, liked.rank), (1, true, Some(1)));
    assert_eq!(liked.top, ["Ada"]);
    service.persist().await;

    // The worker is paused from here.
    let removed = Details::of(&service.unlike(&ada, &activity).await["activity"]);
    assert_eq!((removed.count, removed.liked), (0, false));
    for _ in 0..3 {
        assert_eq!(service.details(Some(&ada), &activity).await, removed);
    }
    assert_eq!(service.persist().await, 1);
    assert_eq!(service.details(Some(&ada), &activity).await, removed);
    assert_eq!(service.at_rest(&activity).await.count, 0);
}

#[tokio::test]
async fn a_set_that_expires_while_events_wait_brings_nothing_back_on_postgres() {
    a_set_that_expires_while_events_wait_brings_nothing_back(Kind::Postgres).await;
}

#[tokio::test]
async fn a_set_that_expires_while_events_wait_brings_nothing_back_on_sqlite() {
    a_set_that_expires_while_events_wait_brings_nothing_back(Kind::Sqlite).await;
}

async fn a_set_that_expires_while_events_wait_brings_nothing_back(kind: Kind) {
    let service = Service::start(kind).await;
    let (ada, grace, alan) = (user("Ada"), user("Grace"), user("Alan"));
    let activity = service.activity().await;
    service.like(&ada, &activity).await;
    service.like(&grace, &activity).await;
    service.persist().await;

    service.unlike(&ada, &activity).await;
    service.like(&alan, &activity).await;
    let before = service.details(Some(&alan), &activity).await;
    assert_eq!((before.count, before.rank), (2, Some(2)));
    assert_eq!(before.top, ["Grace", "Alan"]);
    let _: i64 = service
        .redis(&["DEL", &service.redis_key("set", &activity)])
        .await;
    assert_eq!(service.details(Some(&alan), &activity).await, before);
    assert!(!service.details(Some(&ada), &activity).await.liked);
    service.persist().await;
    assert_eq!(service.details(Some(&alan), &activity).await, before);
    assert_eq!(service.at_rest(&activity).await.top, before.top);
}

#[tokio::test]
async fn a_like_that_was_set_aside_is_not_shown_any_more() {
    let service = Service::start(Kind::Postgres).await;
    let (ada, grace) = (user("Ada"), user("Grace"));
    let activity = service.activity().await;
    service.like(&ada, &activity).await;
    service.like(&grace, &activity).await;
    service
        .world
        .execute("DELETE FROM users WHERE subject = 'Ada'")
        .await;
    assert_eq!(service.details(None, &activity).await.count, 2);
    service.persist().await;
    let seen = service.at_rest(&activity).await;
    assert_eq!((seen.count, seen.top), (1, vec!["Grace".to_owned()]));
    let letters = service.world.store.dead_letters().await.unwrap();
    assert_eq!(letters, [("user_gone".to_owned(), 1)]);
}
