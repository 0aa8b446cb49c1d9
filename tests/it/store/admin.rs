//! The schema, and what operators look at.

use likewise::domain::{ActivityId, Timestamp};
use likewise::store::{Counts, Error, Options, open};

use super::world::{Event, Kind, World, activity_of, connect, liker, partitions};
use Event::{Like, Unlike};

pub async fn a_database_without_the_schema_is_named_and_not_written_to(world: &World) {
    let empty = World::empty(world.kind).await;
    let error = empty.store.verify().await.unwrap_err();
    assert!(matches!(error, Error::Unmigrated(_)), "{error:?}");
    assert!(error.to_string().contains("likewise migrate"), "{error}");
    match world.kind {
        Kind::Sqlite => {
            let file = empty.address.strip_prefix("sqlite:").unwrap();
            assert!(!std::fs::exists(file).unwrap());
        }
        Kind::Postgres => {
            let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
            assert_eq!(empty.number(tables).await, 0);
        }
    }
    empty.store.migrate().await.unwrap();
    empty.store.verify().await.unwrap();
    // A second time does no harm.
    empty.store.migrate().await.unwrap();
    empty.store.verify().await.unwrap();
}

pub async fn a_schema_of_another_program_is_named(world: &World) {
    let applied = "_sqlx_migrations";
    for (change, told) in [
        (
            "UPDATE {} SET checksum = 'x' WHERE version = 2",
            "migration 2 is another one",
        ),
        (
            "UPDATE {} SET success = false WHERE version = 2",
            "migration 2 failed half-way",
        ),
        (
            "UPDATE {} SET version = 99 WHERE version = 2",
            "migration 2 has not been applied",
        ),
        (
            "UPDATE {} SET version = 2, success = true WHERE version = 99",
            "is another one",
        ),
    ] {
        world.execute(&change.replace("{}", applied)).await;
        let error = world.store.verify().await.unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
    }
    let newer = World::new(world.kind).await;
    newer
        .execute(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
            VALUES (99, '', true, 'x', 0)",
        )
        .await;
    let error = newer.store.verify().await.unwrap_err();
    assert!(error.to_string().contains("99 is newer"), "{error}");
}

pub async fn a_different_number_of_partitions_is_named(world: &World) {
    world.store.ensure_checkpoints(partitions(8)).await.unwrap();
    let error = world.store.ensure_checkpoints(partitions(16)).await;
    let Err(Error::PartitionsDiffer { stored, wanted }) = error else {
        panic!("{error:?}");
    };
    assert_eq!((stored, wanted.get()), (8, 16));
}

pub async fn of_two_numbers_of_partitions_at_once_one_wins(world: &World) {
    for _ in 0..10 {
        world.execute("DELETE FROM like_checkpoints").await;
        let (one, other) = tokio::join!(
            world.store.ensure_checkpoints(partitions(4)),
            world.store.ensure_checkpoints(partitions(9)),
        );
        assert_ne!(one.is_ok(), other.is_ok());
        let stored = world.number("SELECT count(*) FROM like_checkpoints").await;
        assert_eq!(stored, if one.is_ok() { 4 } else { 9 });
    }
}

pub async fn an_address_of_another_kind_is_refused_without_telling_it(world: &World) {
    world.store.ping().await.unwrap();
    let options = Options {
        connections: 1,
        patience: std::time::Duration::from_millis(300),
    };
    for address in [
        "",
        "mysql://me:secret@host/x",
        "sqlite::memory:",
        "postgres",
    ] {
        let Err(error) = open(address, &options) else {
            panic!("{address} was opened");
        };
        assert!(matches!(error, Error::Address), "{error:?}");
        assert!(!format!("{error:?} {error}").contains("secret"));
    }
    let nobody = "postgres://me:secret@127.0.0.1:1/x";
    let error = open(nobody, &options).unwrap().ping().await.unwrap_err();
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
}

pub async fn a_drifted_count_is_told_as_it_is_and_healed(world: &World) {
    let [a, b] = world.users().await;
    let (x, y) = (world.activity().await, world.activity().await);
    world.happened(&[Like(x, a, 1), Like(x, b, 2)]).await;
    world
        .execute(&format!(
            "UPDATE activities SET like_count = -2 WHERE id = {x}"
        ))
        .await;
    assert_eq!(world.state(x, None).await.count, -2);
    let counts = |activity, counted, rows| Counts {
        activity,
        counted,
        rows,
    };
    let expected = [counts(x, -2, 2), counts(y, 0, 0)];
    assert_eq!(world.store.counts(None, 10).await.unwrap(), expected);
    assert_eq!(world.store.counts(None, 1).await.unwrap(), expected[..1]);
    assert_eq!(
        world.store.counts(Some(x), 10).await.unwrap(),
        expected[1..]
    );
    assert_eq!(world.store.recount(x).await.unwrap(), Some((-2, 2)));
    assert_eq!(world.store.recount(x).await.unwrap(), Some((2, 2)));
    assert_eq!(world.count(x).await, 2);
    let unknown = ActivityId::new(i64::MAX).unwrap();
    assert_eq!(world.store.recount(unknown).await.unwrap(), None);
}

pub async fn recounting_while_likes_are_persisted_finds_nothing(world: &World) {
    let [a, b] = world.users().await;
    let activity = world.activity().await;
    let persist = async {
        for round in 0..50 {
            world
                .happened(&[Like(activity, a, round), Like(activity, b, round)])
                .await;
            world.happened(&[Unlike(activity, b, round)]).await;
        }
    };
    let recount = async {
        for _ in 0..100 {
            let (before, after) = world.store.recount(activity).await.unwrap().unwrap();
            assert_eq!(before, after);
        }
    };
    tokio::join!(persist, recount);
    assert_eq!(world.count(activity).await, 1);
}

pub async fn loaded_data_is_counted_and_dated(world: &World) {
    let [a, b] = world.users().await;
    // Loading the same users again answers the same keys.
    assert_eq!(world.users().await, [a, b]);
    let (x, y) = (world.activity().await, world.activity().await);
    let likes = [(y, liker(9, b)), (x, liker(3, a)), (x, liker(5, b))];
    world.store.load_likes(&likes).await.unwrap();
    world.store.load_likes(&[(y, liker(7, a))]).await.unwrap();
    world.store.load_likes(&[]).await.unwrap();
    assert_eq!((world.count(x).await, world.count(y).await), (2, 2));
    let state = world.state(y, Some(b)).await;
    assert_eq!(state.top, [liker(7, a), liker(9, b)]);
    assert_eq!(
        (state.changed_at, state.rank),
        (Some(Timestamp(9)), Some(2))
    );
}

/// A request whose client goes away is dropped wherever it waits, also while a transaction begins.
pub async fn a_dropped_request_leaves_no_transaction_to_later_writes(world: &World) {
    let [a] = world.users().await;
    let activity = world.activity().await;
    let store = connect(&world.address, 1);
    store.ping().await.unwrap();
    for polls in 1..60 {
        let mut request = store.recount(activity);
        for _ in 0..polls {
            if futures::poll!(&mut request).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(request);
        let new = activity_of(a);
        let made = store.create_activity(&new).await.unwrap().id;
        let seen = world.store.activities(&[made]).await.unwrap();
        assert_eq!(seen.len(), 1, "not committed after {polls} polls");
    }
}
