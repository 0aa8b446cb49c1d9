//! A Redis whose memory is full.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::service::{Service, key_of, user};
use crate::store::Kind;

#[tokio::test]
async fn a_full_memory_refuses_changes_and_the_worker_empties_it_all_the_same() {
    let service = Service::start(Kind::Sqlite).await;
    let (ada, activity) = (user("Ada"), service.activity().await);
    service.like(&ada, &activity).await;
    let _: String = service.redis(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let refused = service
        .try_change(&service.node, "toggleLike", &ada, &activity, None)
        .await;
    let extensions = &refused["errors"][0]["extensions"];
    assert_eq!(extensions["code"], "UNAVAILABLE", "{refused}");
    assert_eq!(extensions["outcome"], "not_applied", "{refused}");

    // What frees memory is what must not need any.
    let stop = CancellationToken::new();
    let (worker, stopped) = (service.worker(), stop.clone());
    let working = tokio::spawn(async move { worker.run(stopped).await });
    let key = key_of(&activity);
    let rows = format!("SELECT COUNT(*) FROM activities_likes WHERE activity_id = {key}");
    let events = service.redis_key("events", &activity);
    let begun = Instant::now();
    while service.redis::<i64>(&["XLEN", &events]).await > 0 {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "events wait for ever"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(service.world.number(&rows).await, 1);
    stop.cancel();
    working.await.unwrap();

    let _: String = service.redis(&["CONFIG", "SET", "maxmemory", "0"]).await;
    service.unlike(&ada, &activity).await;
    assert_eq!(service.at_rest(&activity).await.count, 0);
}
