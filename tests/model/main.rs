//! The protocol as a model: the real rebuilder, worker and scripts on a Redis and a SQL in memory, with
//! every request a step at which anything else may happen: other actors, expiry, eviction, failures,
//! crashes, and Redis coming back older than it was.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and a panic says where"
)]

mod data;
mod scripts;
mod sql;
mod truth;
mod wire;
mod world;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence, RngSeed, TestError, TestRunner};

use scripts::Guard;
use wire::Fate;
use world::{Step, World};

/// Histories with all guards in place.
const HISTORIES: u64 = 10_000;
const THREADS: u64 = 4;
/// Without a guard, one of so many has to break.
const ENOUGH: u64 = 20_000;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let fate = prop_oneof![Just(Fate::Lost), Just(Fate::Unanswered)];
    let step = prop_oneof![
        12 => any::<(u8, u8)>().prop_map(|(activity, user)| Step::Change(activity, user)),
        14 => any::<(u8, u8, u8)>().prop_map(|(who, what, by)| Step::Rebuild(who, what, by)),
        14 => any::<(u8, u8)>().prop_map(|(who, by)| Step::Work(who, by)),
        2 => (any::<u8>(), fate).prop_map(|(who, fate)| Step::Fail(who, fate)),
        2 => any::<u8>().prop_map(Step::Crash),
        4 => any::<u8>().prop_map(Step::Expire),
        3 => any::<u8>().prop_map(Step::Evict),
        1 => any::<u8>().prop_map(Step::Vanish),
        1 => Just(Step::Copy),
        1 => Just(Step::Restore),
        1 => Just(Step::Rest),
    ];
    vec(step, 20..100)
}

/// The shortest history found that breaks the invariant.
fn broken(without: Option<Guard>, histories: u64, seed: u64) -> Option<String> {
    let config = Config {
        cases: histories.try_into().unwrap(),
        failure_persistence: None::<Box<FileFailurePersistence>>.map(|it| it as _),
        rng_seed: RngSeed::Fixed(seed),
        ..Config::default()
    };
    let history = |steps: Vec<Step>| {
        let mut world = World::new(without);
        for step in steps.into_iter().chain([Step::Rest]) {
            world.step(step).map_err(TestCaseError::fail)?;
        }
        Ok(())
    };
    match TestRunner::new(config).run(&steps(), history) {
        Ok(()) => None,
        Err(TestError::Fail(why, steps)) => Some(format!("{why}\nafter {steps:?}")),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

/// `MODEL_SEED` tries other histories.
fn seed() -> u64 {
    let seed = std::env::var("MODEL_SEED").ok();
    seed.map_or(1, |seed| seed.parse().unwrap())
}

/// As many threads as a test machine has cores.
#[test]
fn the_invariant_holds_in_every_history() {
    let thread = |number| {
        let seed = seed() * THREADS + number;
        std::thread::spawn(move || {
            if let Some(history) = broken(None, HISTORIES / THREADS, seed) {
                panic!("{history}");
            }
        })
    };
    let threads: Vec<_> = (0..THREADS).map(thread).collect();
    let failed = threads.into_iter().filter_map(|it| it.join().err());
    assert_eq!(failed.count(), 0);
}

macro_rules! guards {
    ($($name:ident $guard:ident,)+) => {
        $(
            #[test]
            fn $name() {
                assert_ne!(broken(Some(Guard::$guard), ENOUGH, seed()), None);
            }
        )+
    };
}

guards! {
    a_rebuild_needs_its_lease Lease,
    a_rebuild_waits_for_pending_events Begin,
    a_rebuild_counts_what_it_has_staged Count,
    a_batch_is_fenced_by_the_checkpoint Fence,
    events_are_chained Chain,
    a_newer_event_stays_pending Settle,
}

/// Too rare to be come upon: a rebuilder pauses before its commit, and Redis comes back as it was then.
#[test]
fn a_doubted_partition_loses_its_leases() {
    let history = [
        Step::Rebuild(0, 0, 4),
        Step::Copy,
        // The first lease ends; a second rebuilder finishes, and its set is changed.
        Step::Expire(0),
        Step::Rebuild(1, 0, 5),
        Step::Change(0, 0),
        Step::Work(0, 7),
        Step::Work(0, 7),
        Step::Restore,
        Step::Work(0, 7),
        Step::Work(0, 7),
        // The first goes on.
        Step::Rebuild(0, 0, 0),
    ];
    let broken = |without| {
        let mut world = World::new(without);
        history.into_iter().find_map(|step| world.step(step).err())
    };
    assert_eq!(broken(None), None);
    assert!(broken(Some(Guard::Doubt)).is_some());
}
