//! Points at which tests crash the program, one after each await of what must survive a crash. Without
//! the feature `fault-points`, which no release has, they are nothing at all.

/// All of them.
pub const POINTS: [&str; 41] = [
    "change.asked",
    "change.answered",
    "change.absent",
    "change.rebuilt",
    "change.paused",
    "rebuild.permitted",
    "rebuild.begun",
    "rebuild.headed",
    "rebuild.paged",
    "rebuild.staged",
    "rebuild.committed",
    "rebuild.abandoned",
    "worker.waiting",
    "worker.claimed",
    "worker.checkpoint",
    "worker.pending",
    "worker.persisted_before",
    "worker.trimmed_before",
    "worker.read",
    "worker.doubted",
    "worker.dropped",
    "worker.persisted",
    "worker.settled",
    "worker.forgotten",
    "worker.trimmed",
    "worker.ended",
    "worker.lifted",
    "worker.looked_again",
    "worker.still_gone",
    "worker.skipped",
    "worker.unclaimed",
    "persist.begun",
    "persist.moved",
    "persist.written",
    "reconcile.counted",
    "reconcile.recounted",
    "reconcile.listed",
    "reconcile.known",
    "reconcile.forgotten",
    "reconcile.compared",
    "reconcile.dropped",
];

/// Ends the process at once if this is the point that `LIKEWISE_FAULT_POINT` names.
///
/// # Panics
/// The point is not in the list.
#[cfg(feature = "fault-points")]
pub fn point(name: &str) {
    assert!(POINTS.contains(&name), "{name} is not in the list");
    if std::env::var("LIKEWISE_FAULT_POINT").is_ok_and(|wanted| wanted == name) {
        tracing::error!("crashing at {name}");
        std::process::abort();
    }
}

/// Nothing.
#[cfg(not(feature = "fault-points"))]
pub fn point(_: &str) {}
