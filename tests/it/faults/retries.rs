//! 6: A retry must not flip back.

use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::service::{Service, change, eventually, user};
use crate::store::Kind;

/// What a repeated change answers whatever has happened meanwhile.
fn outcome(payload: &Value) -> (bool, bool) {
    let flag = |name: &str| payload[name].as_bool().unwrap();
    (flag("liked"), flag("changed"))
}

#[tokio::test]
async fn a_repeated_key_changes_once_after_a_cut_connection_and_a_restart() {
    let mut service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let ada = user("Ada");
    service.like(&user("Bob"), &activity).await;

    // The connection is cut before the answer is read.
    let body = change("toggleLike", &activity, Some("tap 1")).to_string();
    let head = format!(
        "POST /graphql HTTP/1.1\r\nHost: likes\r\nContent-Type: application/json\r\n\
         Authorization: Bearer {}\r\nContent-Length: {}\r\n\r\n",
        ada.token,
        body.len()
    );
    let mut stream = TcpStream::connect(service.node.api).await.unwrap();
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    eventually("the toggle has happened", async || {
        service.events(&activity).await.len() == 2
    })
    .await;
    drop(stream);

    let retry = async |service: &Service| {
        let payload = service
            .change("toggleLike", &ada, &activity, Some("tap 1"))
            .await;
        assert_eq!(payload["activity"]["likeCount"], 2);
        outcome(&payload)
    };
    assert_eq!(retry(&service).await, (true, true));
    service.persist().await;
    assert_eq!(retry(&service).await, (true, true));
    let set = service.redis_key("set", &activity);
    let _: i64 = service.redis(&["DEL", &set]).await;
    assert_eq!(retry(&service).await, (true, true));
    service.restart_node().await;
    assert_eq!(retry(&service).await, (true, true));
    assert_eq!(service.persist().await, 0);
    assert_eq!(service.at_rest(&activity).await.count, 2);
}

#[tokio::test]
async fn a_key_sent_twenty_times_at_once_changes_once() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let ada = user("Ada");
    for (tap, liked) in [("tap 1", true), ("tap 2", false), ("tap 3", true)] {
        let toggle = || service.change("toggleLike", &ada, &activity, Some(tap));
        let answers = join_all((0..20).map(|_| toggle())).await;
        for answer in &answers {
            assert_eq!(outcome(answer), (liked, true), "{tap}");
            assert_eq!(answer["activity"], answers[0]["activity"]);
        }
    }
    assert_eq!(service.events(&activity).await.len(), 3);
    assert_eq!(service.at_rest(&activity).await.count, 1);
}

#[tokio::test]
async fn a_repeated_key_answers_what_it_did_after_other_changes() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let ada = user("Ada");
    let tap = |key| service.change("toggleLike", &ada, &activity, Some(key));
    assert_eq!(outcome(&tap("1").await), (true, true));
    assert_eq!(outcome(&tap("2").await), (false, true));
    // What it did, and the state as it is now.
    let late = tap("1").await;
    assert_eq!(outcome(&late), (true, true));
    assert_eq!(late["activity"]["isLiked"], false);
    // Also of what changed nothing.
    let like = |key| service.change("likeActivity", &ada, &activity, Some(key));
    assert_eq!(outcome(&like("3").await), (true, true));
    assert_eq!(outcome(&like("4").await), (true, false));
    service.unlike(&ada, &activity).await;
    assert_eq!(outcome(&like("4").await), (true, false));
    assert_eq!(service.at_rest(&activity).await.count, 0);
}

#[tokio::test]
async fn another_operation_under_a_key_is_a_conflict_and_another_users_key_is_another() {
    let service = Service::start(Kind::Sqlite).await;
    let (activity, other) = (service.activity().await, service.activity().await);
    let (ada, bob) = (user("Ada"), user("Bob"));
    service
        .change("toggleLike", &ada, &activity, Some("k"))
        .await;
    for mutation in ["unlikeActivity", "likeActivity"] {
        let answer = service
            .try_change(&service.node, mutation, &ada, &activity, Some("k"))
            .await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], "CONFLICT");
    }
    assert_eq!(service.events(&activity).await.len(), 1);
    // Independent of each other: another user, another activity.
    let of_bob = service
        .change("toggleLike", &bob, &activity, Some("k"))
        .await;
    assert_eq!(outcome(&of_bob), (true, true));
    let elsewhere = service
        .change("unlikeActivity", &ada, &other, Some("k"))
        .await;
    assert_eq!(outcome(&elsewhere), (false, false));
    assert_eq!(service.at_rest(&activity).await.top, ["Ada", "Bob"]);
}

#[tokio::test]
async fn a_key_is_remembered_for_its_time_and_no_longer() {
    let redis = crate::servers::Redis::start();
    let arguments = ["--idempotency-ttl", "300ms"];
    let service = Service::start_with(Kind::Sqlite, redis, &arguments).await;
    let activity = service.activity().await;
    let ada = user("Ada");
    service
        .change("toggleLike", &ada, &activity, Some("k"))
        .await;
    eventually("the key is forgotten", async || {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let keys: Vec<String> = service.redis(&["KEYS", "*:once:*"]).await;
        keys.is_empty()
    })
    .await;
    let again = service
        .change("toggleLike", &ada, &activity, Some("k"))
        .await;
    assert_eq!(outcome(&again), (false, true));
    assert_eq!(service.at_rest(&activity).await.count, 0);
}
