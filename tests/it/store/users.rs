//! Users.

use futures::future::join_all;
use likewise::domain::Identity;

use super::world::{World, identity};

pub async fn a_subject_without_a_row_names_nobody(world: &World) {
    let nobody = world.store.user_of(&"nobody".parse().unwrap()).await;
    assert_eq!(nobody.unwrap(), None);
}

pub async fn a_new_user_without_a_name_is_called_by_the_subject(world: &World) {
    let id = world.user("subject").await;
    let subject = "subject".parse().unwrap();
    assert_eq!(world.store.user_of(&subject).await.unwrap(), Some(id));
    let [user] = &world.store.users(&[id]).await.unwrap()[..] else {
        panic!("not one user");
    };
    assert_eq!((user.id, &user.subject), (id, &subject));
    assert_eq!((user.name.as_str(), &user.avatar_url), ("subject", &None));
}

pub async fn claims_that_differ_are_taken_over_and_missing_ones_change_nothing(world: &World) {
    let claims = |name: Option<&str>, picture: Option<&str>| Identity {
        name: name.map(str::to_owned),
        picture: picture.map(str::to_owned),
        ..identity("a")
    };
    for (said, name, avatar_url) in [
        (claims(Some("Ann"), None), "Ann", None),
        (claims(None, Some("p")), "Ann", Some("p")),
        (claims(None, None), "Ann", Some("p")),
        (claims(Some("Änne"), Some("q")), "Änne", Some("q")),
    ] {
        let id = world.store.ensure_user(&said).await.unwrap();
        let users = world.store.users(&[id]).await.unwrap();
        assert_eq!(users[0].name, name);
        assert_eq!(users[0].avatar_url.as_deref(), avatar_url);
    }
    assert_eq!(world.number("SELECT count(*) FROM users").await, 1);
}

pub async fn fifty_first_requests_at_once_make_one_user(world: &World) {
    let requests = (0..50).map(|_| world.user("same"));
    let ids = join_all(requests).await;
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(world.number("SELECT count(*) FROM users").await, 1);
}

pub async fn subjects_of_255_bytes_are_kept_apart_to_the_last(world: &World) {
    let long = "ä".repeat(127);
    let subjects = [format!("{long}a"), format!("{long}A"), format!("{long} ")];
    let mut ids = Vec::new();
    for subject in &subjects {
        assert_eq!(subject.len(), 255);
        ids.push(world.user(subject).await);
    }
    for (subject, id) in subjects.iter().zip(ids) {
        let found = world.store.user_of(&subject.parse().unwrap()).await;
        assert_eq!(found.unwrap(), Some(id));
    }
}

pub async fn users_are_found_by_key_and_unknown_keys_are_left_out(world: &World) {
    let [a, b, c] = world.users().await;
    world
        .execute(&format!("DELETE FROM users WHERE id = {b}"))
        .await;
    let mut found = world.store.users(&[c, b, a, a]).await.unwrap();
    found.sort_by_key(|user| user.id);
    assert_eq!(found.iter().map(|user| user.id).collect::<Vec<_>>(), [a, c]);
    assert_eq!(world.store.users(&[]).await.unwrap(), []);
}
