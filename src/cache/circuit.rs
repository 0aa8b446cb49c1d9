//! Spares requests the wait for a Redis that has just been found away.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long nobody tries after a failure to connect. Then one request tries again, while all others are
/// still refused at once, so that a Redis that comes back is noticed within this time.
const REST: Duration = Duration::from_millis(250);

/// Opened by a failure to connect, closed by the next success.
#[derive(Debug, Default)]
pub struct Circuit(Mutex<Option<Instant>>);

impl Circuit {
    /// Whether a request may try to connect now.
    pub fn admits(&self, now: Instant) -> bool {
        let mut rests_until = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *rests_until {
            None => true,
            Some(until) if now < until => false,
            Some(_) => {
                *rests_until = Some(now + REST);
                true
            }
        }
    }

    /// Notes how the try went.
    pub fn note(&self, connected: bool, now: Instant) {
        let rests_until = (!connected).then(|| now + REST);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = rests_until;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_failure_one_request_at_a_time_tries_again() {
        let (circuit, start) = (Circuit::default(), Instant::now());
        assert!(circuit.admits(start) && circuit.admits(start));
        circuit.note(false, start);
        assert!(!circuit.admits(start + REST / 2));
        assert!(circuit.admits(start + REST));
        assert!(!circuit.admits(start + REST));
        circuit.note(true, start + REST);
        assert!(circuit.admits(start + REST) && circuit.admits(start + REST));
    }
}
