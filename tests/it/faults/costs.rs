//! 47: What a page costs does not depend on how long it is.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use likewise::domain::{Liker, Timestamp};
use serde_json::{Value, json};

use crate::proxy::{Mode, Proxy};
use crate::service::{Node, Service, User, eventually, user};
use crate::store::{Kind, activity_of};

const FEED: &str = "query($n: Int!) { activities(first: $n) { nodes { id title author { name }
    likeCount isLiked likeRank likesChangedAt topLikers(first: 5) { name } } } }";

/// What a request cost: statements of SQL, and commands of Redis by name.
#[derive(Debug, PartialEq, Eq)]
struct Cost {
    statements: u64,
    commands: BTreeMap<String, u64>,
}

impl Cost {
    fn of(&self, command: &str) -> u64 {
        self.commands.get(command).copied().unwrap_or(0)
    }
}

async fn commands(service: &Service) -> BTreeMap<String, u64> {
    let stats: String = service.redis(&["INFO", "commandstats"]).await;
    let mut commands = BTreeMap::new();
    for line in stats.lines() {
        if let Some((name, numbers)) = line
            .strip_prefix("cmdstat_")
            .and_then(|it| it.split_once(':'))
        {
            let calls = numbers
                .strip_prefix("calls=")
                .unwrap()
                .split(',')
                .next()
                .unwrap();
            commands.insert(name.to_owned(), calls.parse().unwrap());
        }
    }
    // What the test itself asks, and what nodes ask in peace.
    commands.retain(|name, _| {
        let others = [
            "info",
            "config",
            "hello",
            "client",
            "ping",
            "ssubscribe",
            "sunsubscribe",
        ];
        let name = name.split('|').next().unwrap_or_default();
        !others.contains(&name)
    });
    commands
}

/// A feed of activities with different authors and likers, and somebody who likes some of them.
async fn feed(service: &Service, count: usize) -> User {
    let users = service.world.crowd(10).await;
    let new = (0..count).map(|number| activity_of(users[number % 10]));
    let new: Vec<_> = new.collect();
    let store = &service.world.store;
    let activities = store.load_activities(&new).await.unwrap();
    let mut likes = Vec::new();
    for (number, activity) in activities.into_iter().enumerate() {
        let likers = users.iter().cycle().skip(number).take(1 + number % 7);
        let moments = (1_700_000_000_000_000..).map(Timestamp);
        let likers = likers.zip(moments).map(|(&user, at)| Liker { at, user });
        likes.extend(likers.map(|liker| (activity, liker)));
    }
    store.load_likes(&likes).await.unwrap();
    user("user 0")
}

/// Asks until there is a set of every activity.
async fn warm_up(service: &Service, count: usize) {
    eventually("all sets are there", async || {
        service.query(None, FEED, json!({ "n": count })).await;
        let sets: Vec<String> = service.redis(&["KEYS", "*:set:*"]).await;
        sets.len() == count
    })
    .await;
}

#[tokio::test]
async fn a_page_costs_one_round_trip_to_redis_and_three_statements_whatever_its_size() {
    let service = Service::start(Kind::Postgres).await;
    let proxy = Proxy::before(&service.world.address).await;
    let node = service
        .node_at(&proxy.address(&service.world.address))
        .await;
    let ada = feed(&service, 100).await;
    warm_up(&service, 100).await;
    let ask = async |viewer: Option<&User>, query: &str, count: usize| {
        let _: String = service.redis(&["CONFIG", "RESETSTAT"]).await;
        let before = proxy.statements();
        let body = json!({ "query": query, "variables": { "n": count } });
        let answer = service.send(&node, viewer, body).await;
        assert_eq!(answer.get("errors"), None, "{answer}");
        let cost = Cost {
            statements: proxy.statements() - before,
            commands: commands(&service).await,
        };
        (cost, answer["data"].clone())
    };
    // Who the viewer is has to be asked once.
    ask(Some(&ada), FEED, 1).await;
    for viewer in [Some(&ada), None] {
        for count in [5, 50, 100] {
            let (cost, data) = ask(viewer, FEED, count).await;
            let nodes = data["activities"]["nodes"].as_array().unwrap();
            assert_eq!(nodes.len(), count);
            let top = |node: &Value| node["topLikers"].as_array().unwrap().len();
            assert!(
                nodes
                    .iter()
                    .all(|node| top(node) > 0 && node["author"]["name"].is_string())
            );
            assert!(nodes.iter().any(|node| node["isLiked"] == viewer.is_some()));
            assert_eq!((cost.of("multi"), cost.of("exec")), (1, 1), "{cost:?}");
            let looks = ["zrange", "zcard", "zrank"].map(|name| cost.of(name));
            let count = u64::try_from(count).unwrap();
            let rank = if viewer.is_some() { count } else { 0 };
            assert_eq!(looks, [count, count, rank], "{cost:?}");
            let kinds = if viewer.is_some() { 5 } else { 4 };
            assert_eq!(cost.commands.len(), kinds, "{cost:?}");
            // The feed, and users: authors and likers together, or the ones after the others.
            assert!((2..=3).contains(&cost.statements), "{cost:?}");
        }
    }
    node.stop().await;
}

#[tokio::test]
async fn pages_of_likers_inside_a_page_are_looked_up_together() {
    let service = Service::start(Kind::Postgres).await;
    let proxy = Proxy::before(&service.world.address).await;
    let node = service
        .node_at(&proxy.address(&service.world.address))
        .await;
    let ada = feed(&service, 50).await;
    warm_up(&service, 50).await;
    let query = "query($n: Int!) { activities(first: $n) { nodes { likeCount likers(first: 3) {
        totalCount nodes { name likedActivities(first: 2) { nodes { title likeCount isLiked } } } } } } }";
    let mut costs = Vec::new();
    // The first request asks who the viewer is.
    for count in [1, 5, 50] {
        let _: String = service.redis(&["CONFIG", "RESETSTAT"]).await;
        let before = proxy.statements();
        let body = json!({ "query": query, "variables": { "n": count } });
        let answer = service.send(&node, Some(&ada), body).await;
        assert_eq!(answer.get("errors"), None);
        costs.push((
            proxy.statements() - before,
            commands(&service).await["exec"],
        ));
    }
    let few = |(statements, looks): &(u64, u64)| *statements <= 5 && *looks <= 3;
    assert!(costs.iter().all(few), "{costs:?}");
    node.stop().await;
}

#[tokio::test]
async fn a_cold_page_costs_a_constant_number_of_statements() {
    let service = Service::start(Kind::Postgres).await;
    let proxy = Proxy::before(&service.world.address).await;
    let node = service
        .node_at(&proxy.address(&service.world.address))
        .await;
    let ada = feed(&service, 50).await;
    // Without Redis nothing is rebuilt meanwhile, which would be counted too.
    let mut service = service;
    service.redis.kill();
    let mut statements = Vec::new();
    for count in [1, 5, 50] {
        let before = proxy.statements();
        let body = json!({ "query": FEED, "variables": { "n": count } });
        let answer = service.send(&node, Some(&ada), body).await;
        assert_eq!(
            answer["data"]["activities"]["nodes"]
                .as_array()
                .unwrap()
                .len(),
            count
        );
        statements.push(proxy.statements() - before);
    }
    // The feed, three about likes, and users once or twice; the first one also asks who the viewer is.
    assert!(statements.iter().all(|it| *it <= 7), "{statements:?}");
    assert!(statements[1..].iter().all(|it| *it <= 6), "{statements:?}");
    node.stop().await;
}

/// Lets this many read an activity whose set is missing, all at the same moment; answers what it cost.
async fn cold_readers(service: &Service, node: &Node, proxy: &Proxy, readers: &[User]) -> Cost {
    let activity = service.activity().await;
    service.like(&user("user 0"), &activity).await;
    service.persist().await;
    let set = service.redis_key("set", &activity);
    let _: i64 = service.redis(&["DEL", &set]).await;
    let _: String = service.redis(&["CONFIG", "RESETSTAT"]).await;
    let before = proxy.statements();
    // All of them have come before SQL answers the first.
    proxy.set(Mode::Held);
    let reads = readers
        .iter()
        .map(|reader| service.details_of(node, Some(reader), &activity));
    let release = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        proxy.mend();
    };
    let (read, ()) = tokio::join!(join_all(reads), release);
    for (reader, details) in readers.iter().zip(read) {
        assert_eq!(details.count, 1);
        assert_eq!(details.liked, reader.name == "user 0");
    }
    eventually("it is rebuilt", async || {
        service.redis::<bool>(&["EXISTS", &set]).await
    })
    .await;
    Cost {
        statements: proxy.statements() - before,
        commands: commands(service).await,
    }
}

#[tokio::test]
async fn a_crowd_of_cold_readers_costs_one_rebuild_and_as_many_statements_as_a_few() {
    let service = Service::start(Kind::Postgres).await;
    let proxy = Proxy::before(&service.world.address).await;
    let node = service
        .node_at(&proxy.address(&service.world.address))
        .await;
    service.world.crowd(200).await;
    let readers: Vec<User> = (0..200)
        .map(|number| user(&format!("user {number}")))
        .collect();
    // Who the viewers are has to be asked once, for each of them.
    cold_readers(&service, &node, &proxy, &readers).await;
    for count in [4, 200] {
        let cost = cold_readers(&service, &node, &proxy, &readers[..count]).await;
        assert_eq!(cost.of("rename"), 1, "{cost:?}");
        // Those who come first begin two batches of each kind, everybody else shares the next two or three:
        // the activity, three statements about likes, users; and two of the rebuild.
        assert!(cost.statements <= 32, "{count} readers: {cost:?}");
    }
    node.stop().await;
}
