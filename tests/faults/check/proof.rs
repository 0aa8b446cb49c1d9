//! The search proves on small histories, before each run, that it tells right from wrong.

use super::register::{Failure, Mark, Op, Outside, What, explain};
use crate::record::{Action, Micros};

fn change(start: Micros, end: Micros, action: Action, answer: (bool, bool)) -> Op {
    Op {
        start,
        end,
        what: What::Change(action, Some(answer)),
        certain: true,
        source: 0,
    }
}

fn unknown(start: Micros, end: Micros, action: Action) -> Op {
    Op {
        start,
        end,
        what: What::Change(action, None),
        certain: false,
        source: 0,
    }
}

fn read(start: Micros, end: Micros, shown: bool) -> Op {
    Op {
        start,
        end,
        what: What::Read(shown),
        certain: true,
        source: 0,
    }
}

fn like(start: Micros, end: Micros) -> Op {
    change(start, end, Action::Like, (true, true))
}

/// Panics where the search is wrong.
pub fn prove() {
    let fits = |ops: &[Op]| explain(ops, &[]).is_ok();
    assert!(fits(&[like(0, 1), read(2, 3, true)]));
    assert!(!fits(&[like(0, 1), read(2, 3, false)]), "a lost like");
    assert!(fits(&[like(0, 5), read(2, 3, false), read(4, 6, true)]));
    let back_and_forth = [like(0, 9), read(1, 2, true), read(3, 4, false)];
    assert!(!fits(&back_and_forth), "a like that comes and goes");
    let twice = [like(0, 1), like(2, 3)];
    assert!(!fits(&twice), "a like that changed what was liked already");
    let doubled = [
        change(0, 1, Action::Toggle, (true, true)),
        read(2, 3, false),
    ];
    assert!(!fits(&doubled), "a toggle that was carried out twice");

    let perhaps = |shown| [unknown(0, 30, Action::Toggle), read(5, 6, shown)];
    assert!(fits(&perhaps(true)) && fits(&perhaps(false)));
    let late = [
        unknown(0, 30, Action::Toggle),
        read(31, 32, false),
        read(33, 34, true),
    ];
    assert!(!fits(&late), "an effect after the end");
    let two = [
        unknown(0, 30, Action::Toggle),
        unknown(1, 31, Action::Toggle),
        read(2, 3, true),
        read(4, 5, false),
        read(6, 7, true),
    ];
    assert!(!fits(&two) && fits(&two[..4]), "one effect each");
    // Both toggles at once: either order, but not both from the same state.
    let toggle = |start, end, liked| change(start, end, Action::Toggle, (liked, true));
    assert!(fits(&[toggle(0, 9, true), toggle(0, 9, false)]));
    assert!(!fits(&[toggle(0, 9, true), toggle(0, 9, true)]));
    after_a_restore();
}

fn after_a_restore() {
    let marks = |set, truth, loose| {
        [
            (10, Outside::Copied),
            (20, Outside::Back { set, truth, loose }),
            (30, Outside::Healed),
        ]
        .map(|(at, what)| Mark { at, what })
    };
    let liked_after_the_copy = [like(12, 13), read(40, 41, false)];
    assert!(explain(&liked_after_the_copy, &marks(false, false, false)).is_ok());
    // SQL had it, so it must not vanish.
    let kept = explain(&liked_after_the_copy, &marks(false, true, false));
    assert_eq!(kept, Err(Failure::At(1)));
    // Before the copy is before the copy.
    let liked_before = [like(1, 2)];
    let lost = explain(&liked_before, &marks(false, false, false));
    assert_eq!(lost, Err(Failure::Back(20)));
    // The old set shows until it is dropped, and not again after.
    let in_doubt = |shown: [bool; 2]| {
        let ops = [like(12, 13), read(21, 22, shown[0]), read(23, 24, shown[1])];
        explain(&ops, &marks(false, true, false))
    };
    assert!(in_doubt([false, false]).is_ok() && in_doubt([false, true]).is_ok());
    assert!(in_doubt([true, false]).is_err());
    // A worker that was held still may have persisted it all the same.
    assert!(
        explain(
            &[like(12, 13), read(40, 41, true)],
            &marks(false, false, true)
        )
        .is_ok()
    );
    assert!(explain(&[read(40, 41, true)], &marks(false, false, true)).is_err());
}
