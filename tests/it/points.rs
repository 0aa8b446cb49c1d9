//! Crashes a real process at every fault point, starts it again, repeats what got no answer, and checks
//! that API, Redis and SQL say the same.

mod child;
mod scene;

use futures::StreamExt;
use likewise::fault::POINTS;

use crate::store::Kind;
use child::Child;
use scene::Scene;

/// Scenes at once; each waits most of the time.
const AT_ONCE: usize = 3;

#[tokio::test]
async fn a_crash_at_any_point_loses_and_doubles_nothing_on_sqlite() {
    crash_everywhere(Kind::Sqlite, &POINTS).await;
}

/// The points at which SQL matters.
#[tokio::test]
async fn a_crash_at_any_point_loses_and_doubles_nothing_on_postgres() {
    let matters = |point: &&str| !point.starts_with("change.");
    let points: Vec<_> = POINTS.into_iter().filter(matters).collect();
    crash_everywhere(Kind::Postgres, &points).await;
}

#[test]
fn the_list_has_every_point_of_the_source_once() {
    let mut named = Vec::new();
    let mut folders = vec![std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = std::fs::read_to_string(path).unwrap();
                let calls = text.split("point(\"").skip(1);
                named.extend(calls.map(|rest| rest.split('"').next().unwrap().to_owned()));
            }
        }
    }
    named.sort();
    // Each database has its own.
    named.dedup();
    let mut listed = POINTS.to_vec();
    listed.sort_unstable();
    assert_eq!(named, listed);
}

async fn crash_everywhere(kind: Kind, points: &[&'static str]) {
    let crashes = points.iter().map(|&point| crash(kind, point));
    let crashes = futures::stream::iter(crashes).buffer_unordered(AT_ONCE);
    crashes.collect::<Vec<()>>().await;
}

async fn crash(kind: Kind, point: &'static str) {
    let scene = Scene::set(kind).await;
    let mut serve = Child::start(&scene, "serve", &[], Some(point)).await;
    if let Some(api) = serve.api {
        scene.storm(api).await;
        scene.wait_for_workers(&mut serve).await;
    }
    serve.end().await;
    let crashed = serve.has_crashed() || {
        let mut reconcile = Child::start(&scene, "reconcile", &["--repair"], Some(point)).await;
        reconcile.wait().await;
        reconcile.has_crashed()
    };
    assert!(crashed, "{point} was not reached: {:#?}", serve.last_words);

    scene.let_leases_end().await;
    let mut serve = Child::start(&scene, "serve", &[], None).await;
    let api = serve.api.unwrap_or_else(|| panic!("{point}: no restart"));
    let answers = scene.storm(api).await;
    assert!(scene.wait_for_workers(&mut serve).await, "{point}");
    serve.end().await;
    assert_eq!(serve.code(), Some(0), "{point}");
    for arguments in [&["--repair"][..], &[]] {
        let mut reconcile = Child::start(&scene, "reconcile", arguments, None).await;
        reconcile.wait().await;
        assert_eq!(
            reconcile.code(),
            Some(0),
            "{point}: reconcile {arguments:?}"
        );
    }
    scene.check(point, &answers).await;
}
