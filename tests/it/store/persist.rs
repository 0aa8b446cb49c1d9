//! What the worker writes.

use likewise::domain::{DeadLetter, EventId, Timestamp, UserId};
use likewise::store::Persisted;

use super::world::{Event, PARTITION, World, batch, committed, garbage, liker, partitions};
use Event::{Like, Unlike};

pub async fn a_batch_likes_unlikes_and_moves_the_checkpoint(world: &World) {
    let [a, b, c] = world.users().await;
    let activity = world.activity().await;
    assert_eq!(checkpoint(world).await, EventId::START);
    world
        .happened(&[Like(activity, a, 1), Like(activity, b, 2)])
        .await;
    assert_eq!(checkpoint(world).await.to_string(), "0-2");
    world
        .happened(&[Unlike(activity, a, 3), Like(activity, c, 4)])
        .await;
    let state = world.state(activity, None).await;
    assert_eq!(state.top, [liker(2, b), liker(4, c)]);
    assert_eq!(state.changed_at, Some(Timestamp(4)));
    assert_eq!(world.count(activity).await, 2);
}

pub async fn liking_again_keeps_one_row_with_the_last_date(world: &World) {
    let [a, b] = world.users().await;
    let activity = world.activity().await;
    world
        .happened(&[Like(activity, a, 1), Like(activity, b, 2)])
        .await;
    // Unliked and liked within one batch: only the last event arrives here.
    world
        .happened(&[Unlike(activity, a, 3), Like(activity, a, 4)])
        .await;
    let state = world.state(activity, None).await;
    assert_eq!(state.top, [liker(2, b), liker(4, a)]);
    assert_eq!(world.count(activity).await, 2);
}

pub async fn unliking_what_is_not_liked_changes_only_the_date(world: &World) {
    let [a, b] = world.users().await;
    let activity = world.activity().await;
    world.happened(&[Like(activity, a, 1)]).await;
    world
        .happened(&[Like(activity, b, 5), Unlike(activity, b, 6)])
        .await;
    let state = world.state(activity, None).await;
    assert_eq!((state.count, state.changed_at), (1, Some(Timestamp(6))));
    assert_eq!(world.count(activity).await, 1);
}

pub async fn a_replayed_batch_is_fenced(world: &World) {
    let [a] = world.users().await;
    let activity = world.activity().await;
    let likes = batch(EventId::START, &[Like(activity, a, 1)]);
    assert_eq!(world.store.persist(&likes).await.unwrap(), committed());
    assert_eq!(
        world.store.persist(&likes).await.unwrap(),
        Persisted::Fenced
    );
    world.happened(&[Unlike(activity, a, 2)]).await;
    assert_eq!(
        world.store.persist(&likes).await.unwrap(),
        Persisted::Fenced
    );
    assert_eq!(world.count(activity).await, 0);
}

pub async fn of_two_workers_at_the_same_checkpoint_exactly_one_commits(world: &World) {
    let [a, b] = world.users().await;
    let activity = world.activity().await;
    for round in 0..20 {
        let from = checkpoint(world).await;
        let one = batch(from, &[Like(activity, a, round)]);
        let other = batch(from, &[Like(activity, a, round), Like(activity, b, round)]);
        let (one, other) = tokio::join!(world.store.persist(&one), world.store.persist(&other));
        let answers = [one.unwrap(), other.unwrap()];
        let fenced = answers
            .iter()
            .filter(|answer| **answer == Persisted::Fenced);
        assert_eq!(fenced.count(), 1, "{answers:?}");
        world.count(activity).await;
    }
}

pub async fn two_partitions_write_the_same_activities_without_a_deadlock(world: &World) {
    let users: [_; 20] = world.users().await;
    let (x, y) = (world.activity().await, world.activity().await);
    let events = users.map(|user| [Like(x, user, 1), Like(y, user, 2)]);
    for round in 0..10 {
        let mut one = batch(checkpoint(world).await, events.as_flattened());
        let mut other = one.clone();
        other.partition.0 += 1;
        if round % 2 == 1 {
            one.writes
                .iter_mut()
                .for_each(|write| write.liked_at = None);
        }
        let (one, other) = tokio::join!(world.store.persist(&one), world.store.persist(&other));
        assert_eq!([one.unwrap(), other.unwrap()], [committed(), committed()]);
        world.count(x).await;
        world.count(y).await;
    }
}

pub async fn likes_of_what_is_gone_are_set_aside_and_the_rest_persists(world: &World) {
    let [a, b] = world.users().await;
    let (activity, gone) = (world.activity().await, world.activity().await);
    world
        .execute(&format!("DELETE FROM activities WHERE id = {gone}"))
        .await;
    world
        .execute(&format!("DELETE FROM users WHERE id = {b}"))
        .await;
    let mut likes = batch(
        EventId::START,
        &[
            Like(gone, a, 1),
            Like(activity, b, 2),
            Like(activity, a, 3),
            Unlike(gone, b, 4),
        ],
    );
    likes.to = likes.to.next();
    likes.garbage.push(garbage(likes.to));
    let Persisted::Committed {
        set_aside,
        gone: missing,
        refused,
    } = world.store.persist(&likes).await.unwrap()
    else {
        panic!("fenced");
    };
    assert_eq!((missing, refused), (vec![gone], vec![activity]));
    let told = |letter: &DeadLetter| (letter.id.to_string(), letter.reason);
    let expected = [
        ("0-1", "activity_gone"),
        ("0-2", "user_gone"),
        ("0-5", "garbage"),
    ];
    let told: Vec<_> = set_aside.iter().map(told).collect();
    assert_eq!(told, expected.map(|(id, reason)| (id.to_owned(), reason)));
    let letters = world.store.dead_letters().await.unwrap();
    let expected = ["activity_gone", "garbage", "user_gone"];
    assert_eq!(letters, expected.map(|reason| (reason.to_owned(), 1)));
    assert_eq!(world.count(activity).await, 1);
    assert_eq!(world.state(activity, Some(a)).await.rank, Some(1));
}

pub async fn what_goes_while_a_batch_is_written_is_set_aside_too(world: &World) {
    let [a, b] = world.users().await;
    let (activity, other) = (world.activity().await, world.activity().await);
    let (going_user, going_activity) = (
        format!("DELETE FROM users WHERE id = {b}"),
        format!("DELETE FROM activities WHERE id = {other}"),
    );
    for (statement, event, reason) in [
        (going_user, Like(activity, b, 1), "user_gone"),
        (going_activity, Like(other, a, 2), "activity_gone"),
    ] {
        let likes = batch(checkpoint(world).await, &[event, Like(activity, a, 3)]);
        let persisted = world.store.persist(&likes);
        let Persisted::Committed { set_aside, .. } =
            world.before_commit(&statement, persisted).await.unwrap()
        else {
            panic!("fenced");
        };
        let reasons: Vec<_> = set_aside.iter().map(|letter| letter.reason).collect();
        assert_eq!(reasons, [reason]);
        assert_eq!(world.count(activity).await, 1);
    }
}

pub async fn the_newest_change_never_falls(world: &World) {
    let [a, b] = world.users().await;
    let activity = world.activity().await;
    assert_eq!(world.state(activity, None).await.changed_at, None);
    world.happened(&[Like(activity, a, 9)]).await;
    world.happened(&[Like(activity, b, 5)]).await;
    let state = world.state(activity, None).await;
    assert_eq!(state.changed_at, Some(Timestamp(9)));
    assert_eq!(state.top, [liker(5, b), liker(9, a)]);
}

pub async fn keys_above_2_to_the_53_and_times_to_the_microsecond_are_kept(world: &World) {
    const FIRST: i64 = 1 << 53;
    const NOW: i64 = 1_769_846_400_123_457;
    world.continue_keys_after(FIRST - 1).await;
    let [a, b, c] = world.users().await;
    let activity = world.activity().await;
    assert_eq!([a, b, c].map(|user| user.get() - FIRST), [0, 1, 2]);
    assert!(activity.get() >= FIRST);
    world
        .happened(&[
            Like(activity, a, NOW),
            Like(activity, b, NOW + 1),
            Like(activity, c, NOW + 2),
        ])
        .await;
    world.happened(&[Unlike(activity, b, NOW + 3)]).await;
    let state = world.state(activity, Some(b)).await;
    assert!(!state.liked);
    assert_eq!(state.top, [liker(NOW, a), liker(NOW + 2, c)]);
    assert_eq!(state.changed_at, Some(Timestamp(NOW + 3)));
    assert_eq!(world.count(activity).await, 2);
}

pub async fn checkpoints_are_compared_to_the_last_digit(world: &World) {
    let high: EventId = "18446744073709551614-18446744073709551614".parse().unwrap();
    let mut moves = batch(EventId::START, &[]);
    moves.to = high;
    assert_eq!(world.store.persist(&moves).await.unwrap(), committed());
    assert_eq!(checkpoint(world).await, high);
    moves.from = high.next();
    assert_eq!(
        world.store.persist(&moves).await.unwrap(),
        Persisted::Fenced
    );
    moves.from = high;
    assert_eq!(world.store.persist(&moves).await.unwrap(), committed());
}

pub async fn a_batch_of_thousands_is_written_in_one_go(world: &World) {
    let users = world.crowd(5_000).await;
    let activity = world.activity().await;
    let like = |user: &UserId| Like(activity, *user, user.get());
    let likes: Vec<Event> = users.iter().map(like).collect();
    world.happened(&likes).await;
    assert_eq!(world.state(activity, None).await.count, 5_000);
    let unlike = |user: &UserId| Unlike(activity, *user, 9_000);
    let unlikes: Vec<Event> = users.iter().skip(1).map(unlike).collect();
    world.happened(&unlikes).await;
    assert_eq!(world.count(activity).await, 1);
}

pub async fn a_partition_without_a_checkpoint_is_named(world: &World) {
    let mut beyond = PARTITION;
    beyond.0 = 8;
    let error = world.store.checkpoint(beyond).await.unwrap_err();
    assert!(error.to_string().contains("like_checkpoints"), "{error}");
    world.store.ensure_checkpoints(partitions(8)).await.unwrap();
}

async fn checkpoint(world: &World) -> EventId {
    world.store.checkpoint(PARTITION).await.unwrap()
}
