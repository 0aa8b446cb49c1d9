//! What callers do, counted in this process.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota};

use crate::cache::Allowance;
use crate::domain::Cost;

/// Two allowances for each caller.
pub struct Process {
    reads: DefaultKeyedRateLimiter<String>,
    changes: DefaultKeyedRateLimiter<String>,
    clock: DefaultClock,
}

impl Process {
    pub fn new(reads: Allowance, changes: Allowance) -> Self {
        let limiter = |it: Allowance| {
            let quota = Quota::per_second(it.rate).allow_burst(it.burst);
            DefaultKeyedRateLimiter::keyed(quota)
        };
        Self {
            reads: limiter(reads),
            changes: limiter(changes),
            clock: DefaultClock::default(),
        }
    }

    /// Takes both; how long to wait where one of them is not there.
    pub fn take(&self, name: &String, cost: Cost) -> Result<(), Duration> {
        self.take_one(&self.changes, name, cost.changes)?;
        self.take_one(&self.reads, name, cost.reads)
    }

    fn take_one(
        &self,
        limiter: &DefaultKeyedRateLimiter<String>,
        name: &String,
        count: usize,
    ) -> Result<(), Duration> {
        let Some(count) = u32::try_from(count).ok().and_then(NonZeroU32::new) else {
            return Ok(());
        };
        match limiter.check_key_n(name, count) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(until)) => Err(until.wait_time_from(self.clock.now())),
            // More than can ever be saved up: limits of one request let that pass only where they were raised.
            Err(_) => Err(Duration::MAX),
        }
    }

    pub fn forget(&self) {
        for limiter in [&self.reads, &self.changes] {
            limiter.retain_recent();
            limiter.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(reads: u32, changes: u32) -> Process {
        let allowance = |rate| Allowance {
            rate: NonZeroU32::new(rate).unwrap(),
            burst: NonZeroU32::new(rate * 10).unwrap(),
        };
        Process::new(allowance(reads), allowance(changes))
    }

    fn take(process: &Process, name: &str, reads: usize, changes: usize) -> Result<(), Duration> {
        process.take(&name.to_owned(), Cost { reads, changes })
    }

    #[test]
    fn what_is_saved_up_can_be_taken_at_once_and_no_more() {
        let process = process(10, 1);
        assert_eq!(take(&process, "a", 60, 0), Ok(()));
        assert_eq!(take(&process, "a", 40, 0), Ok(()));
        let wait = take(&process, "a", 20, 0).unwrap_err();
        assert!(
            wait > Duration::from_secs(1) && wait <= Duration::from_secs(2),
            "{wait:?}"
        );
        // Somebody else is not concerned.
        assert_eq!(take(&process, "b", 100, 0), Ok(()));
    }

    #[test]
    fn changes_are_counted_one_by_one() {
        let process = process(1_000, 1);
        assert_eq!(take(&process, "a", 1, 5), Ok(()));
        assert_eq!(take(&process, "a", 1, 5), Ok(()));
        assert!(take(&process, "a", 1, 1).is_err());
        assert_eq!(take(&process, "a", 1, 0), Ok(()));
    }

    #[test]
    fn more_than_can_be_saved_up_is_refused() {
        assert_eq!(take(&process(1, 1), "a", 11, 0), Err(Duration::MAX));
    }

    #[test]
    fn callers_who_are_away_are_forgotten() {
        let process = process(1_000, 1_000);
        for i in 0..100 {
            take(&process, &i.to_string(), 1, 1).unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
        process.forget();
        assert_eq!(process.reads.len(), 0);
    }
}
