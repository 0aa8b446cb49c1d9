//! How often watchers of an activity hear of it: at once, and then once in a while for as long as it goes on.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::ActivityId;

/// The shortest time between two states of one activity: ten a second look like motion.
const PACE: Duration = Duration::from_millis(100);
/// What one watcher costs. Many watchers make the pace of their activity slower, so that it takes at most
/// some 20,000 messages a second from this process, whatever happens.
const SHARE: Duration = Duration::from_micros(50);

/// Which activities have been told of lately, and which of them changed since then.
#[derive(Debug, Default)]
pub struct Ticks {
    quiet: HashMap<ActivityId, Quiet>,
    ends: BTreeMap<Instant, BTreeSet<ActivityId>>,
}

#[derive(Debug)]
struct Quiet {
    changed: bool,
}

impl Ticks {
    /// Notes a change. Whether to tell of it now; else it is told when the time has come.
    pub fn changed(&mut self, activity: ActivityId) -> bool {
        match self.quiet.get_mut(&activity) {
            None => true,
            Some(quiet) => {
                quiet.changed = true;
                false
            }
        }
    }

    /// Notes that so many watchers were told.
    pub fn told(&mut self, activity: ActivityId, watchers: usize, now: Instant) {
        let share = SHARE.saturating_mul(u32::try_from(watchers).unwrap_or(u32::MAX));
        let end = now + PACE.max(share);
        self.quiet.insert(activity, Quiet { changed: false });
        self.ends.entry(end).or_default().insert(activity);
    }

    /// When to look again.
    pub fn next(&self) -> Option<Instant> {
        self.ends.keys().next().copied()
    }

    /// The activities that changed while they were quiet, and are not any more.
    pub fn due(&mut self, now: Instant) -> Vec<ActivityId> {
        let mut due = Vec::new();
        while let Some(entry) = self.ends.first_entry() {
            if *entry.key() > now {
                break;
            }
            for activity in entry.remove() {
                let quiet = self.quiet.remove(&activity);
                due.extend(quiet.filter(|quiet| quiet.changed).map(|_| activity));
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn activity() -> ActivityId {
        ActivityId::new(7).unwrap()
    }

    #[test]
    fn the_first_change_is_told_at_once_and_the_last_after_the_pace() {
        let mut ticks = Ticks::default();
        let start = Instant::now();
        assert!(ticks.changed(activity()));
        ticks.told(activity(), 1, start);
        for _ in 0..3 {
            assert!(!ticks.changed(activity()));
        }
        assert_eq!(ticks.next(), Some(start + PACE));
        assert!(ticks.due(start + PACE / 2).is_empty());
        assert_eq!(ticks.due(start + PACE), [activity()]);
        assert_eq!(ticks.next(), None);
    }

    #[test]
    fn without_a_further_change_it_is_forgotten() {
        let mut ticks = Ticks::default();
        let start = Instant::now();
        ticks.told(activity(), 1, start);
        assert!(ticks.due(start + PACE).is_empty());
        assert!(ticks.quiet.is_empty() && ticks.ends.is_empty());
        assert!(ticks.changed(activity()));
    }

    #[test]
    fn many_watchers_are_told_less_often() {
        let mut ticks = Ticks::default();
        let start = Instant::now();
        ticks.told(activity(), 20_000, start);
        assert_eq!(ticks.next(), Some(start + Duration::from_secs(1)));
    }
}
