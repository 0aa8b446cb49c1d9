//! 30, 31: Differences between Redis and SQL are named and healed, also under load.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use likewise::likes::reconcile::{Reconcile, Report};
use tokio::time::sleep;

use crate::service::{Service, key_of, user};
use crate::store::Kind;

on_both_databases! {
    each_kind_of_difference_is_named_and_healed,
    a_repair_under_likes_leaves_nothing_for_a_second_run,
}

async fn run(service: &Service, repair: bool) -> Report {
    let cache = service.node.app.cache().clone();
    let reconcile = Reconcile::new(service.world.store.clone(), cache);
    reconcile.run(repair, |_| {}).await.unwrap()
}

fn kinds(report: &Report) -> BTreeMap<&'static str, usize> {
    let mut kinds = BTreeMap::new();
    for difference in &report.differences {
        *kinds.entry(difference.kind()).or_default() += 1;
    }
    kinds
}

/// Makes an activity liked by three users, with a set and rows.
async fn activity(service: &Service) -> String {
    let activity = service.activity().await;
    for name in ["Ada", "Bob", "Cleo"] {
        service.like(&user(name), &activity).await;
    }
    service.persist().await;
    activity
}

/// Harms an activity in one way, and answers the word for it.
async fn harm(service: &Service, activity: &str, way: usize) -> &'static str {
    let set = service.redis_key("set", activity);
    let key = key_of(activity);
    let members = service.members(activity).await;
    let member = |place: usize| format!("a{}", members[place].0);
    let ada = member(0);
    let command: Vec<&str> = match way {
        0 => vec!["ZREM", &set, "-"],
        1 => vec!["ZREM", &set, &ada],
        2 => vec!["ZADD", &set, "1700000000000000", "c999"],
        3 => vec!["ZINCRBY", &set, "-1", &ada],
        4 => vec!["ZINCRBY", &set, "-1", "-"],
        5 => vec!["ZINCRBY", &set, "1", "-"],
        6 => {
            // A clamp would hide it.
            let drift = format!("UPDATE activities SET like_count = -2 WHERE id = {key}");
            service.world.execute(&drift).await;
            return "count";
        }
        _ => {
            let user = &members[1].0;
            let lost = format!(
                "DELETE FROM activities_likes WHERE activity_id = {key} AND user_id = {user}"
            );
            service.world.execute(&lost).await;
            return "both";
        }
    };
    let _: f64 = service.redis(&command).await;
    [
        "damaged_set",
        "likers",
        "likers",
        "likers",
        "version",
        "version",
    ][way]
}

async fn each_kind_of_difference_is_named_and_healed(kind: Kind) {
    let service = Service::start(kind).await;
    let untouched = activity(&service).await;
    let mut harmed = Vec::new();
    for way in 0..8 {
        let activity = activity(&service).await;
        let word = harm(&service, &activity, way).await;
        let report = run(&service, false).await;
        let found = kinds(&report);
        let wanted = match word {
            "both" => BTreeMap::from([("count", 1), ("likers", 1)]),
            word => BTreeMap::from([(word, 1)]),
        };
        assert_eq!(found, wanted, "{way} {:?}", report.differences);
        let key = key_of(&activity).to_string();
        let named = report.differences[0].to_string();
        assert!(named.contains(&format!("activity {key}")), "{named}");
        // It was named and not touched, so that it is found again, and healed.
        assert_eq!(kinds(&run(&service, true).await), wanted);
        assert_eq!(run(&service, false).await.differences, [], "{way}");
        harmed.push(activity);
    }
    let orphan = activity(&service).await;
    let delete = format!("DELETE FROM activities WHERE id = {}", key_of(&orphan));
    service.world.execute(&delete).await;
    assert_eq!(
        kinds(&run(&service, true).await),
        BTreeMap::from([("orphan_set", 1)])
    );
    assert_eq!(run(&service, false).await.differences, []);

    for (way, activity) in harmed.iter().enumerate() {
        let rested = service.at_rest(activity).await;
        assert_eq!(rested.count, if way == 7 { 2 } else { 3 }, "{way}");
    }
    assert_eq!(
        service.at_rest(&untouched).await.top,
        ["Ada", "Bob", "Cleo"]
    );
}

#[tokio::test]
async fn events_that_wait_are_no_differences() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = activity(&service).await;
    for name in ["Dan", "Eve", "Ada"] {
        service.toggle(&user(name), &activity).await;
    }
    assert_eq!(run(&service, true).await.differences, []);
    assert_eq!(
        service.at_rest(&activity).await.top,
        ["Bob", "Cleo", "Dan", "Eve"]
    );
}

async fn a_repair_under_likes_leaves_nothing_for_a_second_run(kind: Kind) {
    let service = Service::start(kind).await;
    service.node.work();
    let mut activities = Vec::new();
    for way in 0..7 {
        let activity = activity(&service).await;
        harm(&service, &activity, way).await;
        activities.push(activity);
    }
    let users: Vec<_> = (0..20).map(|it| user(&format!("user {it}"))).collect();
    let is_done = std::cell::Cell::new(false);
    let toggled = async {
        // 200 a second, as far as the machine goes along.
        let mut count = 0;
        while !is_done.get() {
            let turn = async |user| {
                let activity = &activities[rand::random_range(0..activities.len())];
                let node = &service.node;
                let answer = service
                    .try_change(node, "toggleLike", user, activity, None)
                    .await;
                assert_eq!(answer.get("errors"), None, "{answer}");
            };
            join_all(users.iter().map(turn)).await;
            count += users.len();
            sleep(Duration::from_millis(100)).await;
        }
        count
    };
    let reconciled = async {
        sleep(Duration::from_millis(200)).await;
        let healed = run(&service, true).await;
        let second = run(&service, false).await;
        is_done.set(true);
        (healed, second)
    };
    let (count, (healed, second)) = futures::join!(toggled, reconciled);
    assert!(count >= 20, "{count}");
    let found = kinds(&healed);
    assert!(found.contains_key("count"), "{:?}", healed.differences);
    assert_eq!(second.differences, []);
    for activity in &activities {
        service.at_rest(activity).await;
    }
}
