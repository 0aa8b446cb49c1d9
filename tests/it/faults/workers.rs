//! Several workers, and workers that are killed.

use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio::time::sleep;

use crate::servers::Redis;
use crate::service::{Service, User, drain, eventually, toggles, user};
use crate::store::Kind;

/// How long to kill workers, where that makes fewer than two hundred kills.
const ENOUGH: Duration = Duration::from_secs(25);

on_both_databases! {
    four_workers_at_once_persist_what_fifty_users_toggle_in_order,
}

fn crowd(count: usize) -> Vec<User> {
    (0..count).map(|it| user(&format!("user {it}"))).collect()
}

/// Toggles so many times by every user, a few at a time.
async fn toggle_all(
    service: &Service,
    activity: &str,
    users: &[User],
    times: usize,
    at_once: usize,
) {
    let one = async |user: &User| {
        let mut left = times;
        while left > 0 {
            let count = left.min(at_once);
            let answer = service
                .send(&service.node, Some(user), toggles(activity, count))
                .await;
            assert_eq!(answer.get("errors"), None);
            left -= count;
        }
    };
    join_all(users.iter().map(one)).await;
}

// 34: none of them claims a partition, so that only the checkpoint stands between them.
async fn four_workers_at_once_persist_what_fifty_users_toggle_in_order(kind: Kind) {
    let service = Service::start(kind).await;
    let (activity, other) = (service.activity().await, service.activity().await);
    let users = crowd(50);
    let is_done = std::cell::Cell::new(false);
    let work = async || {
        let (worker, mut places) = (service.worker(), service.places());
        while !is_done.get() {
            drain(&worker, &mut places).await;
            sleep(Duration::from_millis(1)).await;
        }
    };
    let change = async {
        let (here, there) = users.split_at(25);
        futures::join!(
            toggle_all(&service, &activity, here, 101, 20),
            toggle_all(&service, &other, there, 101, 20),
        );
        is_done.set(true);
    };
    futures::join!(change, work(), work(), work(), work());
    assert_eq!(service.at_rest(&activity).await.count, 25);
    assert_eq!(service.at_rest(&other).await.count, 25);
}

// 33
#[tokio::test]
async fn whatever_killed_workers_have_taken_ends_in_sql() {
    let service = Service::start(Kind::Postgres).await;
    let activities = [
        service.activity().await,
        service.activity().await,
        service.activity().await,
    ];
    let users = crowd(20);
    let is_done = std::cell::Cell::new(false);
    let change = async {
        // 3,060 events, spread over the time of the killing.
        for _ in 0..17 {
            for activity in &activities {
                toggle_all(&service, activity, &users, 3, 3).await;
                sleep(Duration::from_millis(200)).await;
            }
        }
        is_done.set(true);
    };
    let begun = Instant::now();
    let mut kills = 0;
    let mut by_killed = 0;
    let kill = async {
        let mut checkpoints = String::new();
        while kills < 200 && (begun.elapsed() < ENOUGH || by_killed < 5) {
            let mut worker = service.program("worker", &["--batch", "10"]);
            worker.address("metrics").await;
            sleep(Duration::from_millis(rand::random_range(0..60))).await;
            worker.kill();
            kills += 1;
            // The next one does not wait for the end of its leases.
            for partition in 0..8 {
                let lease = format!("{{likes:{partition}}}:worker");
                let _: i64 = service.redis(&["DEL", &lease]).await;
            }
            let moved = service
                .world
                .pairs("SELECT 'a', string_agg(last_id, ' ') FROM like_checkpoints")
                .await;
            if moved[0].1 != checkpoints {
                by_killed += 1;
                checkpoints.clone_from(&moved[0].1);
            }
        }
    };
    futures::join!(change, kill);
    assert!(is_done.get());
    assert!(by_killed >= 5, "{by_killed} of {kills} did something");
    for activity in &activities {
        // 51 toggles each.
        assert_eq!(service.at_rest(activity).await.count, 20);
    }
}

// 41
#[tokio::test]
async fn sigterm_under_load_ends_in_time_and_loses_and_doubles_nothing() {
    let redis = Redis::start_durable();
    let service = Service::start_with(Kind::Postgres, redis, &[]).await;
    let activity = service.activity().await;
    let users = crowd(20);
    let (mut serve, mut worker) = (
        service.program("serve", &[]),
        service.program("worker", &[]),
    );
    let url = serve.url().await;
    worker.address("metrics").await;
    let total = std::cell::Cell::new(0);
    // How often each was answered, and whether it is sure that nothing happened unanswered.
    let load = users.iter().map(async |user| {
        let mut answered = 0;
        loop {
            match service.post(&url, Some(user), &toggles(&activity, 1)).await {
                Ok(answer) if answer.get("errors").is_none() => {
                    answered += 1;
                    total.set(total.get() + 1);
                }
                Ok(answer) => panic!("{answer}"),
                Err(error) => return (answered, error.is_connect()),
            }
        }
    });
    let end = async {
        eventually("there is load", async || total.get() > 200).await;
        futures::join!(serve.terminate(), worker.terminate())
    };
    let (answered, codes) = futures::join!(join_all(load), end);
    // Beyond the deadline they would say so by another code.
    assert_eq!(codes, (0, 0), "{} {}", serve.log(), worker.log());
    let rested = service.at_rest(&activity).await;
    for (user, (count, is_sure)) in users.iter().zip(answered) {
        if is_sure {
            let liked = rested.top.contains(&user.name);
            assert_eq!(liked, count % 2 == 1, "{}: {count}", user.name);
        }
    }
}
