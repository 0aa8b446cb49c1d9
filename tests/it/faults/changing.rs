//! Changing likes.

use futures::future::join_all;

use crate::service::{Details, Service, User, user};
use crate::store::Kind;

on_both_databases! {
    three_hundred_users_at_once_are_three_hundred_likes,
    like_unlike_like_is_one_row_with_the_last_date,
    keys_above_2_to_the_53_are_not_rounded,
}

// 2
#[tokio::test]
async fn the_sentinel_is_not_counted_listed_or_ranked() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let ada = user("Ada");
    service.toggle(&ada, &activity).await;
    service.toggle(&ada, &activity).await;
    let query = "query($id: ID!) { activity(id: $id) { likeCount topLikers { name }
        first: likers(first: 5) { totalCount nodes { name } pageInfo { hasPreviousPage hasNextPage } }
        last: likers(last: 5) { totalCount nodes { name } pageInfo { hasPreviousPage hasNextPage } } } }";
    let variables = serde_json::json!({ "id": activity });
    let empty = service.query(None, query, variables.clone()).await;
    assert_eq!(empty["activity"]["likeCount"], 0);
    assert_eq!(empty["activity"]["topLikers"], serde_json::json!([]));
    let page = serde_json::json!({ "totalCount": 0, "nodes": [],
        "pageInfo": { "hasPreviousPage": false, "hasNextPage": false } });
    assert_eq!(empty["activity"]["first"], page);
    assert_eq!(empty["activity"]["last"], page);

    // Nobody can have its name.
    let dash = user("-");
    let liked = Details::of(&service.like(&dash, &activity).await["activity"]);
    assert_eq!((liked.count, liked.rank), (1, Some(1)));
    assert_eq!(liked.top, ["-"]);
    let full = service.query(None, query, variables).await;
    for side in ["first", "last"] {
        let nodes = &full["activity"][side]["nodes"];
        assert_eq!(*nodes, serde_json::json!([{ "name": "-" }]));
    }
    assert_eq!(service.at_rest(&activity).await.count, 1);
}

// 3
#[tokio::test]
async fn a_user_is_counted_once_however_often_and_parallel() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let (ada, bob) = (user("Ada"), user("Bob"));
    let likes = join_all((0..50).map(|_| service.like(&ada, &activity)));
    let toggles = join_all((0..51).map(|_| service.toggle(&bob, &activity)));
    let (likes, toggles) = futures::join!(likes, toggles);
    let changed = likes.iter().filter(|it| it["changed"] == true);
    assert_eq!(changed.count(), 1);
    assert!(likes.iter().all(|it| it["liked"] == true));
    assert!(toggles.iter().all(|it| it["changed"] == true));
    let on = toggles.iter().filter(|it| it["liked"] == true);
    assert_eq!(on.count(), 26);
    // That the events of a user alternate is checked at rest.
    assert_eq!(service.events(&activity).await.len(), 52);
    assert_eq!(service.at_rest(&activity).await.count, 2);
}

// 4
#[tokio::test]
async fn twenty_unlikes_at_once_take_one_like_back() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let ada = user("Ada");
    service.like(&ada, &activity).await;
    let unlikes = join_all((0..20).map(|_| service.unlike(&ada, &activity))).await;
    let unchanged = unlikes.iter().filter(|it| it["changed"] == false);
    assert_eq!(unchanged.count(), 19);
    assert!(unlikes.iter().all(|it| it["activity"]["likeCount"] == 0));
    assert_eq!(service.events(&activity).await.len(), 2);
    assert_eq!(service.at_rest(&activity).await.count, 0);
}

// 5
async fn three_hundred_users_at_once_are_three_hundred_likes(kind: Kind) {
    let service = Service::start(kind).await;
    let activity = service.activity().await;
    let users: Vec<User> = (0..300).map(|it| user(&format!("user {it}"))).collect();
    let like = async |user: &User| {
        loop {
            let answer = service
                .try_change(&service.node, "likeActivity", user, &activity, None)
                .await;
            if answer.get("errors").is_none() {
                return answer["data"]["likeActivity"].clone();
            }
            // A machine that is too slow to make so many users at once says that nothing has happened.
            let extensions = &answer["errors"][0]["extensions"];
            assert_eq!(extensions["outcome"], "not_applied", "{answer}");
        }
    };
    let likes = join_all(users.iter().map(like)).await;
    assert!(likes.iter().all(|it| it["changed"] == true));
    let mut ranks: Vec<_> = likes
        .iter()
        .map(|it| it["activity"]["likeRank"].as_i64().unwrap())
        .collect();
    ranks.sort_unstable();
    assert_eq!(ranks, (1..=300).collect::<Vec<_>>());
    assert_eq!(service.events(&activity).await.len(), 300);
    assert_eq!(service.at_rest(&activity).await.count, 300);
}

// 8, 9
#[tokio::test]
async fn repeating_a_like_or_an_unlike_changes_nothing() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let (ada, bob) = (user("Ada"), user("Bob"));
    let never = service.unlike(&bob, &activity).await;
    assert_eq!(
        (&never["liked"], &never["changed"]),
        (&false.into(), &false.into())
    );
    for name in ["events", "pending"] {
        let key = service.redis_key(name, &activity);
        assert!(!service.redis::<bool>(&["EXISTS", &key]).await, "{name}");
    }
    // What was read from SQL for it may stay for a while.
    let set = service.redis_key("set", &activity);
    assert!(service.redis::<i64>(&["PTTL", &set]).await > 0);

    let first = service.like(&ada, &activity).await;
    let again = service.like(&ada, &activity).await;
    assert_eq!(
        (&first["changed"], &again["changed"]),
        (&true.into(), &false.into())
    );
    assert_eq!(first["activity"], again["activity"]);
    assert_eq!(service.events(&activity).await.len(), 1);
    service.persist().await;
    let third = service.like(&ada, &activity).await;
    assert_eq!(first["activity"], third["activity"]);
    assert_eq!(service.at_rest(&activity).await.count, 1);
}

// 10, 37
async fn like_unlike_like_is_one_row_with_the_last_date(kind: Kind) {
    let service = Service::start(kind).await;
    let activity = service.activity().await;
    let (ada, bob) = (user("Ada"), user("Bob"));
    service.like(&ada, &activity).await;
    service.like(&bob, &activity).await;
    // All of one batch; at rest, rows have the times of the set.
    service.unlike(&ada, &activity).await;
    let last = Details::of(&service.like(&ada, &activity).await["activity"]);
    assert_eq!(service.persist().await, 4);
    let rested = service.at_rest(&activity).await;
    assert_eq!(
        (rested.count, &rested.top[..]),
        (2, &["Bob".to_owned(), "Ada".to_owned()][..])
    );
    assert_eq!(rested.changed_at, last.changed_at);
    // And each in a batch of its own.
    for mutation in ["unlikeActivity", "likeActivity"] {
        service.change(mutation, &bob, &activity, None).await;
        assert_eq!(service.persist().await, 1);
    }
    assert_eq!(service.at_rest(&activity).await.top, ["Ada", "Bob"]);
}

// 12
#[tokio::test]
async fn an_answer_shows_its_own_effect_whether_or_not_the_worker_runs() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    let users = ["Ada", "Bob", "Cleo", "Dan"].map(user);
    for works in [false, true] {
        if works {
            service.node.work();
        }
        for (place, user) in users.iter().enumerate() {
            let liked = Details::of(&service.toggle(user, &activity).await["activity"]);
            let rank = i64::try_from(place).unwrap() + 1;
            assert_eq!(
                (liked.count, liked.liked, liked.rank),
                (rank, true, Some(rank))
            );
            assert_eq!(liked.top.last(), Some(&user.name));
            assert_eq!(service.details(Some(user), &activity).await, liked);
        }
        for user in &users {
            let unliked = Details::of(&service.toggle(user, &activity).await["activity"]);
            assert!(!unliked.liked && unliked.rank.is_none() && !unliked.top.contains(&user.name));
            assert_eq!(service.details(Some(user), &activity).await, unliked);
        }
    }
    assert_eq!(service.at_rest(&activity).await.count, 0);
}

// 13
async fn keys_above_2_to_the_53_are_not_rounded(kind: Kind) {
    let service = Service::start(kind).await;
    // As doubles, both of the next keys are 9007199254740992.
    service
        .world
        .continue_keys_after(9_007_199_254_740_991)
        .await;
    let (even, odd) = (user("even"), user("odd"));
    let (first, second) = (service.activity().await, service.activity().await);
    assert_ne!(first, second);
    for activity in [&first, &second] {
        service.like(&even, activity).await;
        let both = Details::of(&service.like(&odd, activity).await["activity"]);
        assert_eq!((both.count, both.rank), (2, Some(2)));
        assert_eq!(both.top, ["even", "odd"]);
        let members = service.members(activity).await;
        assert!(
            members
                .iter()
                .all(|(user, _)| user.starts_with("900719925474099"))
        );
    }
    service.unlike(&even, &second).await;
    assert_eq!(service.at_rest(&first).await.top, ["even", "odd"]);
    assert_eq!(service.at_rest(&second).await.top, ["odd"]);
}

// 14
#[tokio::test]
async fn a_first_toggle_likes() {
    let service = Service::start(Kind::Sqlite).await;
    let activity = service.activity().await;
    for name in ["Ada", "Bob"] {
        let first = service.toggle(&user(name), &activity).await;
        assert_eq!(
            (&first["liked"], &first["changed"]),
            (&true.into(), &true.into())
        );
    }
    let second = service.toggle(&user("Ada"), &activity).await;
    assert_eq!(
        (&second["liked"], &second["changed"]),
        (&false.into(), &true.into())
    );
    assert_eq!(service.at_rest(&activity).await.top, ["Bob"]);
}
