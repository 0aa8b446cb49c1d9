//! Looking at likes.

use likewise::domain::{
    ActivityId, EventId, LikeState, Liker, Look, Page, Partition, Slice, Take, Timestamp, UserId,
};
use likewise::store::{LookQuery, RowsQuery};

use super::world::{Event, PARTITION, World, first, last, liker, page};
use Event::{Like, Unlike};
use Take::{First, Last};

pub async fn a_look_tells_count_change_rank_and_the_earliest(world: &World) {
    let [a, b, c] = world.users().await;
    let (x, y) = (world.activity().await, world.activity().await);
    world
        .happened(&[Like(x, b, 1), Like(x, c, 2), Like(y, c, 3), Like(x, a, 4)])
        .await;
    let asked = [y, x, x];
    let look = Look { top: 2, rank: true };
    let found = world.looked(rows(&asked), Some(c), look).await;
    assert_eq!(found.len(), 2);
    assert_eq!(found[&x].count, 3);
    assert_eq!(found[&x].changed_at, Some(Timestamp(4)));
    assert_eq!(found[&x].top, [liker(1, b), liker(2, c)]);
    assert_eq!((found[&x].liked, found[&x].rank), (true, Some(2)));
    assert_eq!(found[&y].top, [liker(3, c)]);
    assert_eq!((found[&y].liked, found[&y].rank), (true, Some(1)));
}

pub async fn a_look_tells_no_more_than_was_asked(world: &World) {
    let [a, b] = world.users().await;
    let activity = world.activity().await;
    world.happened(&[Like(activity, a, 1)]).await;
    let asked = [activity];
    for (viewer, liked) in [(None, false), (Some(a), true), (Some(b), false)] {
        let found = world.looked(rows(&asked), viewer, Look::default()).await;
        let state = &found[&activity];
        assert_eq!((state.count, state.liked), (1, liked));
        assert_eq!((state.rank, state.top.len()), (None, 0));
    }
}

pub async fn each_of_several_viewers_gets_its_own_view(world: &World) {
    let [a, b, c] = world.users().await;
    let (x, y) = (world.activity().await, world.activity().await);
    world
        .happened(&[Like(x, b, 1), Like(x, a, 2), Like(y, c, 3)])
        .await;
    // Twice the same, one of an activity that is not looked at, and nobody for y.
    let viewers = [(x, a), (x, a), (x, b), (x, c), (y, c)];
    let asked = [x];
    let query = LookQuery {
        rows: rows(&asked),
        viewers: &viewers,
        look: Look { top: 1, rank: true },
    };
    let found = world.store.look(&query).await.unwrap().found;
    assert_eq!(found.len(), 1);
    for (viewer, rank) in [
        (Some(a), Some(2)),
        (Some(b), Some(1)),
        (Some(c), None),
        (None, None),
    ] {
        let state = found[&x].of(viewer);
        assert_eq!((state.liked, state.rank), (rank.is_some(), rank));
        assert_eq!((state.count, state.top.as_slice()), (2, &[liker(1, b)][..]));
    }
}

pub async fn an_activity_without_likes_is_found_and_an_unknown_one_is_not(world: &World) {
    let activity = world.activity().await;
    let unknown = ActivityId::new(i64::MAX).unwrap();
    let asked = [activity, unknown];
    let query = rows(&asked);
    let likers = world.store.likers(&query, &first(1)).await.unwrap().found;
    assert_eq!(likers.len(), 1);
    assert_eq!(likers[&activity], slice(&[], false, false));
    let viewer = Some(world.user("viewer").await);
    let look = Look { top: 1, rank: true };
    let states = world.looked(query, viewer, look).await;
    assert_eq!(states.len(), 1);
    assert_eq!(states[&activity], LikeState::default());
}

pub async fn excepted_rows_are_as_if_they_did_not_exist(world: &World) {
    let [a, b, c, d] = world.users().await;
    let (x, y) = (world.activity().await, world.activity().await);
    world
        .happened(&[Like(x, a, 1), Like(x, b, 2), Like(x, c, 3), Like(y, a, 4)])
        .await;
    let query = RowsQuery {
        activities: &[x, y],
        // Twice the same, and one that is no row.
        except: &[(x, a), (x, a), (x, d)],
        partitions: &[],
    };
    let page = first(9);
    let likers = world.store.likers(&query, &page).await.unwrap().found;
    assert_eq!(likers[&x].items, [liker(2, b), liker(3, c)]);
    assert_eq!(likers[&y].items, [liker(4, a)]);
    for (viewer, rank_x, rank_y) in [(a, None, Some(1)), (c, Some(2), None)] {
        let look = Look { top: 1, rank: true };
        let states = world.looked(query.clone(), Some(viewer), look).await;
        assert_eq!((states[&x].count, states[&y].count), (2, 1));
        assert_eq!(states[&x].top, [liker(2, b)]);
        assert_eq!((states[&x].rank, states[&y].rank), (rank_x, rank_y));
        assert_eq!(states[&x].liked, rank_x.is_some());
    }
}

pub async fn thousands_of_excepted_rows_are_left_out_in_one_query(world: &World) {
    let users = world.crowd(3_000).await;
    let activity = world.activity().await;
    let like = |user: &UserId| Like(activity, *user, user.get());
    let likes: Vec<Event> = users.iter().map(like).collect();
    world.happened(&likes).await;
    let except: Vec<_> = users[..2_990]
        .iter()
        .map(|user| (activity, *user))
        .collect();
    let query = RowsQuery {
        activities: &[activity],
        except: &except,
        partitions: &[],
    };
    let found = world.store.likers(&query, &first(20)).await.unwrap().found;
    assert_eq!(found[&activity].items.len(), 10);
    let look = Look { top: 1, rank: true };
    let state = &world.looked(query, Some(users[2_999]), look).await[&activity];
    assert_eq!((state.count, state.rank), (10, Some(10)));
}

pub async fn checkpoints_are_told_along_with_the_rows(world: &World) {
    let [a] = world.users().await;
    let activity = world.activity().await;
    world.happened(&[Like(activity, a, 1)]).await;
    let activities = [activity];
    let mut query = rows(&activities);
    let page = first(1);
    let snapshot = world.store.likers(&query, &page).await.unwrap();
    assert!(snapshot.checkpoints.is_empty());
    let beyond = Partition(1000);
    let asked = [PARTITION, Partition(0), beyond];
    query.partitions = &asked;
    let expected = [
        (PARTITION, EventId::START.next()),
        (Partition(0), EventId::START),
    ];
    let snapshot = world.store.likers(&query, &page).await.unwrap();
    assert_eq!(snapshot.checkpoints, expected.into());
    let query = LookQuery {
        rows: query,
        ..LookQuery::default()
    };
    let snapshot = world.store.look(&query).await.unwrap();
    assert_eq!(snapshot.checkpoints, expected.into());
}

pub async fn likes_of_one_microsecond_are_in_the_order_of_the_numbers_of_users(world: &World) {
    world.continue_keys_after(7).await;
    let users = world.crowd(95).await;
    let activity = world.activity().await;
    let numbers = [100, 9, 10, 99, 8];
    let user = |number: i64| *users.iter().find(|user| user.get() == number).unwrap();
    let likes = numbers.map(|number| Like(activity, user(number), 1));
    world.happened(&likes).await;
    let found = world.likers(activity, first(9)).await.items;
    let found: Vec<i64> = found.iter().map(|liker| liker.user.get()).collect();
    assert_eq!(found, [8, 9, 10, 99, 100]);
    let state = world.state(activity, Some(user(10))).await;
    assert_eq!(state.rank, Some(3));
    let after = page(First(2), Some(liker(1, user(9))), None);
    let expected = slice(&[liker(1, user(10)), liker(1, user(99))], true, true);
    assert_eq!(world.likers(activity, after).await, expected);
}

pub async fn likers_are_paged_from_both_ends_between_cursors(world: &World) {
    let [a, b, c, d, e] = world.users().await;
    let activity = world.activity().await;
    let all = [
        liker(1, c),
        liker(2, a),
        liker(2, b),
        liker(3, e),
        liker(4, d),
    ];
    let likes = all.map(|liker| Like(activity, liker.user, liker.at.0));
    world.happened(&likes).await;
    let page_of = async |page: Page<Liker>| world.likers(activity, page).await;
    assert_eq!(page_of(first(2)).await, slice(&all[..2], false, true));
    assert_eq!(page_of(first(5)).await, slice(&all, false, false));
    assert_eq!(page_of(last(2)).await, slice(&all[3..], true, false));
    assert_eq!(page_of(first(0)).await, slice(&[], false, true));
    let cursor = |index: usize| Some(all[index]);
    let after = page(First(2), cursor(1), None);
    assert_eq!(page_of(after).await, slice(&all[2..4], true, true));
    let after = page(Last(2), cursor(1), None);
    assert_eq!(page_of(after).await, slice(&all[3..], true, false));
    let before = page(First(2), None, cursor(3));
    assert_eq!(page_of(before).await, slice(&all[..2], false, true));
    let before = page(Last(2), None, cursor(3));
    assert_eq!(page_of(before).await, slice(&all[1..3], true, true));
    let between = page(First(2), cursor(0), cursor(4));
    assert_eq!(page_of(between).await, slice(&all[1..3], true, true));
    let between = page(Last(2), cursor(0), cursor(4));
    assert_eq!(page_of(between).await, slice(&all[2..4], true, true));
    let nothing = page(First(2), cursor(3), cursor(1));
    assert_eq!(page_of(nothing).await, slice(&[], true, false));
}

pub async fn a_cursor_works_when_its_liker_has_left_or_never_was(world: &World) {
    let [a, b, c] = world.users().await;
    let activity = world.activity().await;
    world
        .happened(&[
            Like(activity, a, 1),
            Like(activity, b, 2),
            Like(activity, c, 3),
        ])
        .await;
    world.happened(&[Unlike(activity, b, 4)]).await;
    let after = page(First(9), Some(liker(2, b)), None);
    let expected = slice(&[liker(3, c)], true, false);
    assert_eq!(world.likers(activity, after).await, expected);
    let before = page(Last(9), None, Some(liker(2, b)));
    let expected = slice(&[liker(1, a)], false, true);
    assert_eq!(world.likers(activity, before).await, expected);
    let extremes = page(First(9), Some(liker(i64::MIN, a)), Some(liker(i64::MAX, a)));
    let expected = slice(&[liker(1, a), liker(3, c)], true, false);
    assert_eq!(world.likers(activity, extremes).await, expected);
}

fn rows(activities: &[ActivityId]) -> RowsQuery<'_> {
    RowsQuery {
        activities,
        ..RowsQuery::default()
    }
}

fn slice(likers: &[Liker], has_previous: bool, has_next: bool) -> Slice<Liker> {
    Slice {
        items: likers.to_vec(),
        has_previous,
        has_next,
    }
}
