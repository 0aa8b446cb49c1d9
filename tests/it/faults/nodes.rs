//! Several processes on one Redis and one database, and the death of all of them.

use std::cell::RefCell;
use std::time::Duration;

use futures::future::join_all;
use serde_json::json;
use tokio::time::sleep;

use crate::servers::Redis;
use crate::service::{Details, LIKES, Service, change, eventually, user};
use crate::store::Kind;

#[tokio::test]
async fn what_one_node_changes_the_other_shows_in_the_next_request() {
    let service = Service::start(Kind::Postgres).await;
    let apis = [0, 1].map(|_| service.program("serve", &["--worker", "false"]));
    let worker = service.program("worker", &[]);
    let urls = [apis[0].url().await, apis[1].url().await];
    worker.address("metrics").await;
    let activity = service.activity().await;
    let users = ["Ada", "Bob", "Cleo"].map(user);
    let query = format!("query($id: ID!) {{ activity(id: $id) {{ {LIKES} }} }}");
    let body = json!({ "query": query, "variables": { "id": activity } });
    for turn in 0..60 {
        let (here, there) = (&urls[turn % 2], &urls[(turn + 1) % 2]);
        let user = &users[turn % 3];
        let toggle = change("toggleLike", &activity, None);
        let toggled = service.post(here, Some(user), &toggle).await.unwrap();
        let seen = service.post(there, Some(user), &body).await.unwrap();
        let toggled = Details::of(&toggled["data"]["toggleLike"]["activity"]);
        assert_eq!(Details::of(&seen["data"]["activity"]), toggled);
    }
    // The worker is a process of its own, and persists without being told to.
    let stream = service.redis_key("events", &activity);
    eventually("all is persisted", async || {
        service.redis::<i64>(&["XLEN", &stream]).await == 0
    })
    .await;
    assert_eq!(service.at_rest(&activity).await.count, 0);
    let mut reconcile = service.program("reconcile", &[]);
    assert_eq!(reconcile.exit().await, 0, "{}", reconcile.log());
}

#[tokio::test]
async fn everything_killed_in_the_middle_of_two_thousand_toggles_loses_and_doubles_nothing() {
    let redis = Redis::start_durable();
    let mut service = Service::start_with(Kind::Postgres, redis, &[]).await;
    let activities = [service.activity().await, service.activity().await];
    let users: Vec<_> = (0..40).map(|it| user(&format!("user {it}"))).collect();
    let url = RefCell::new(None);
    let redis = RefCell::new(std::mem::replace(&mut service.redis, Redis::start()));
    // Each toggle is repeated under its key until it is answered.
    let toggle = async {
        let toggle = users.iter().enumerate().map(async |(number, user)| {
            let activity = &activities[number % 2];
            for tap in 0..51 {
                let body = change("toggleLike", activity, Some(&format!("tap {tap}")));
                loop {
                    let here: Option<String> = url.borrow().clone();
                    if let Some(here) = here
                        && let Ok(answer) = service.post(&here, Some(user), &body).await
                        && answer.get("errors").is_none()
                    {
                        let payload = &answer["data"]["toggleLike"];
                        assert_eq!(payload["liked"], tap % 2 == 0, "{answer}");
                        assert_eq!(payload["changed"], true);
                        break;
                    }
                    sleep(Duration::from_millis(20)).await;
                }
            }
        });
        join_all(toggle).await;
    };
    let kill = async {
        for _ in 0..4 {
            let mut serve = service.program("serve", &["--worker", "false"]);
            let mut worker = service.program("worker", &["--batch", "50"]);
            *url.borrow_mut() = Some(serve.url().await);
            sleep(Duration::from_millis(rand::random_range(300..900))).await;
            redis.borrow_mut().kill();
            serve.kill();
            worker.kill();
            *url.borrow_mut() = None;
            redis.borrow_mut().start_again();
        }
        let serve = service.program("serve", &[]);
        *url.borrow_mut() = Some(serve.url().await);
        serve
    };
    let ((), serve) = futures::join!(toggle, kill);
    drop(serve);
    service.redis = redis.into_inner();
    // The test's own node has slept through it all.
    eventually("Redis is reached again", async || {
        service.node.app.cache().ping().await.is_ok()
    })
    .await;
    let mut reconcile = service.program("reconcile", &[]);
    assert_eq!(reconcile.exit().await, 0, "{}", reconcile.log());
    assert!(
        reconcile.log().contains("0 differences"),
        "{}",
        reconcile.log()
    );
    for activity in &activities {
        assert_eq!(service.at_rest(activity).await.count, 20);
    }
    let mut reconcile = service.program("reconcile", &["--repair"]);
    assert_eq!(reconcile.exit().await, 0, "{}", reconcile.log());
}

#[tokio::test]
async fn reconcile_tells_by_its_exit_code_and_its_words_what_differs() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    service.like(&user("Ada"), &activity).await;
    service.persist().await;
    service
        .world
        .execute("UPDATE activities SET like_count = -2")
        .await;
    for (arguments, code, words) in [
        (&[][..], 1, "has like_count -2 but 1 rows"),
        (&["--repair"][..], 0, "Healed"),
        (&[][..], 0, "0 differences"),
    ] {
        let mut reconcile = service.program("reconcile", arguments);
        assert_eq!(reconcile.exit().await, code, "{}", reconcile.log());
        assert!(reconcile.log().contains(words), "{}", reconcile.log());
    }
    assert_eq!(service.at_rest(&activity).await.count, 1);
}
