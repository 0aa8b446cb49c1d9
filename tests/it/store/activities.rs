//! Activities, the feed, and what users like.

use std::collections::BTreeSet;

use likewise::domain::{
    Activity, ActivityId, ActivityOrder, FeedPlace, LikedActivity, LikedPlace, NewActivity, Page,
    Slice, Take, Timestamp, UserId,
};
use likewise::store::Deletion;

use super::world::{Event, World, activity_of, first, last, page};
use ActivityOrder::{MostLiked, Newest};
use Event::{Like, Unlike};
use Take::{First, Last};

pub async fn an_activity_is_kept_as_it_was_made(world: &World) {
    let author = world.user("author").await;
    let new = NewActivity {
        author,
        title: "Ein Öl-Gemälde \"🎨\"".to_owned(),
        body: "it's\nlong".to_owned(),
        created_at: Timestamp(1_769_846_400_123_457),
    };
    let made = world.store.create_activity(&new).await.unwrap();
    let expected = Activity {
        id: made.id,
        title: new.title.clone(),
        body: new.body.clone(),
        author: Some(author),
        created_at: new.created_at,
        persisted_count: 0,
    };
    assert_eq!(made, expected);
    let loaded = world.store.load_activities(&[new]).await.unwrap();
    let mut found = activities(world, &[made.id, loaded[0]]).await;
    assert_eq!(found.remove(0), expected);
    let id = loaded[0];
    assert_eq!(found, [Activity { id, ..expected }]);
}

pub async fn an_activity_survives_its_author(world: &World) {
    let activity = world.activity().await;
    world.execute("DELETE FROM users").await;
    let found = activities(world, &[activity]).await;
    assert_eq!(found[0].author, None);
}

pub async fn the_feed_is_paged_newest_first_from_both_ends(world: &World) {
    let keys = load(world, 5).await;
    let feed = async |page: Page<FeedPlace>| feed(world, Newest, page, &keys).await;
    assert_eq!(feed(first(2)).await, ([4, 3].into(), false, true));
    assert_eq!(feed(last(2)).await, ([1, 0].into(), true, false));
    assert_eq!(feed(first(5)).await, ([4, 3, 2, 1, 0].into(), false, false));
    assert_eq!(feed(first(0)).await, ([].into(), false, true));
    let place = |index: usize| {
        let (count, activity) = (0, keys[index]);
        Some(FeedPlace { count, activity })
    };
    let after = page(First(2), place(3), None);
    assert_eq!(feed(after).await, ([2, 1].into(), true, true));
    let before = page(Last(2), None, place(1));
    assert_eq!(feed(before).await, ([3, 2].into(), true, true));
    let between = page(First(9), place(4), place(0));
    assert_eq!(feed(between).await, ([3, 2, 1].into(), true, false));
    let between = page(Last(2), place(4), place(0));
    assert_eq!(feed(between).await, ([2, 1].into(), true, true));
    let nothing = page(First(2), place(0), None);
    assert_eq!(feed(nothing).await, ([].into(), true, false));
}

pub async fn the_feed_is_paged_most_liked_first_and_newest_among_equals(world: &World) {
    let keys = load(world, 5).await;
    let [a, b] = world.users().await;
    world
        .happened(&[
            Like(keys[0], a, 1),
            Like(keys[2], a, 2),
            Like(keys[2], b, 3),
            Like(keys[3], a, 4),
        ])
        .await;
    let feed = async |page: Page<FeedPlace>| feed(world, MostLiked, page, &keys).await;
    assert_eq!(feed(first(9)).await, ([2, 3, 0, 4, 1].into(), false, false));
    assert_eq!(feed(last(3)).await, ([0, 4, 1].into(), true, false));
    let place = |count: i64, index: usize| {
        let activity = keys[index];
        Some(FeedPlace { count, activity })
    };
    let after = page(First(2), place(1, 3), None);
    assert_eq!(feed(after).await, ([0, 4].into(), true, true));
    let before = page(Last(2), None, place(0, 4));
    assert_eq!(feed(before).await, ([3, 0].into(), true, true));
    let between = page(First(1), place(2, 2), place(0, 4));
    assert_eq!(feed(between).await, ([3].into(), true, true));
    // The activity of the cursor has been liked since: the page goes on where it stood.
    world.happened(&[Like(keys[3], b, 5)]).await;
    assert_eq!(feed(after).await, ([0, 4].into(), true, true));
}

pub async fn what_users_like_is_paged_newest_like_first(world: &World) {
    let keys = load(world, 4).await;
    let [a, b, c] = world.users().await;
    world
        .happened(&[
            Like(keys[2], a, 5),
            Like(keys[0], a, 6),
            // At the same microsecond, the higher key counts as newer.
            Like(keys[1], a, 6),
            Like(keys[3], a, 4),
            Like(keys[2], b, 7),
        ])
        .await;
    let mut all = world.store.liked(&[a, b, c], &first(3)).await.unwrap();
    assert_eq!(
        shape(&all.remove(&a).unwrap(), &keys),
        ([1, 0, 2].into(), false, true)
    );
    assert_eq!(
        shape(&all.remove(&b).unwrap(), &keys),
        ([2].into(), false, false)
    );
    assert_eq!(
        shape(&all.remove(&c).unwrap(), &keys),
        ([].into(), false, false)
    );
    assert!(all.is_empty());

    let place = |at: i64, index: usize| {
        let (at, activity) = (Timestamp(at), keys[index]);
        Some(LikedPlace { at, activity })
    };
    let liked = async |page: Page<LikedPlace>| {
        let mut found = world.store.liked(&[a], &page).await.unwrap();
        shape(&found.remove(&a).unwrap(), &keys)
    };
    let after = page(First(2), place(6, 1), None);
    assert_eq!(liked(after).await, ([0, 2].into(), true, true));
    let before = page(Last(1), None, place(5, 2));
    assert_eq!(liked(before).await, ([0].into(), true, true));
    let between = page(Last(9), place(6, 1), place(4, 3));
    assert_eq!(liked(between).await, ([0, 2].into(), false, true));
    // Cursors whose like is gone, or that no like can have.
    world.happened(&[Unlike(keys[1], a, 8)]).await;
    assert_eq!(liked(after).await, ([0, 2].into(), true, true));
    let extremes = page(First(9), place(i64::MAX, 0), place(i64::MIN, 0));
    assert_eq!(liked(extremes).await, ([0, 2, 3].into(), true, false));
    let nobody = UserId::new(i64::MAX).unwrap();
    assert!(
        world
            .store
            .liked(&[nobody], &first(1))
            .await
            .unwrap()
            .is_empty()
    );
}

pub async fn only_its_author_deletes_an_activity_and_its_likes_go_along(world: &World) {
    let [a, b] = world.users().await;
    let new = activity_of(a);
    let activity = world.store.create_activity(&new).await.unwrap().id;
    let other = world.activity().await;
    let likes = [
        Like(activity, a, 1),
        Like(activity, b, 2),
        Like(other, a, 3),
    ];
    world.happened(&likes).await;
    let delete = async |by: UserId| world.store.delete_activity(activity, by).await.unwrap();
    assert_eq!(delete(b).await, Deletion::NotAuthor);
    assert_eq!(world.count(activity).await, 2);
    assert_eq!(delete(a).await, Deletion::Deleted);
    assert_eq!(delete(a).await, Deletion::NotFound);
    assert!(activities(world, &[activity]).await.is_empty());
    let rows = world.number("SELECT count(*) FROM activities_likes").await;
    assert_eq!(rows, 1);
    assert_eq!(world.count(other).await, 1);
}

pub async fn an_activity_of_nobody_is_not_deleted(world: &World) {
    let activity = world.activity().await;
    let author = world.user("author").await;
    world.execute("DELETE FROM users").await;
    let answer = world.store.delete_activity(activity, author).await;
    assert_eq!(answer.unwrap(), Deletion::NotAuthor);
}

pub async fn the_key_of_a_deleted_activity_is_never_used_again(world: &World) {
    let author = world.user("author").await;
    let mut keys = BTreeSet::new();
    for _ in 0..3 {
        let activity = world.activity().await;
        assert!(keys.insert(activity));
        world.store.delete_activity(activity, author).await.unwrap();
    }
}

/// Makes activities and answers their rising keys.
async fn load(world: &World, count: usize) -> Vec<ActivityId> {
    let author = world.user("author").await;
    let new = vec![activity_of(author); count];
    let keys = world.store.load_activities(&new).await.unwrap();
    assert!(keys.is_sorted());
    keys
}

async fn activities(world: &World, ids: &[ActivityId]) -> Vec<Activity> {
    let mut activities = world.store.activities(ids).await.unwrap();
    activities.sort_by_key(|activity| activity.id);
    activities
}

/// Places in the list of keys, and whether there is more before and after.
type Shape = (Vec<usize>, bool, bool);

async fn feed(
    world: &World,
    order: ActivityOrder,
    page: Page<FeedPlace>,
    keys: &[ActivityId],
) -> Shape {
    let slice = world.store.feed(order, &page).await.unwrap();
    let index = |activity: &Activity| keys.binary_search(&activity.id).unwrap();
    let indexes = slice.items.iter().map(index).collect();
    (indexes, slice.has_previous, slice.has_next)
}

fn shape(slice: &Slice<LikedActivity>, keys: &[ActivityId]) -> Shape {
    let index = |liked: &LikedActivity| keys.binary_search(&liked.activity.id).unwrap();
    let indexes = slice.items.iter().map(index).collect();
    (indexes, slice.has_previous, slice.has_next)
}
