//! Room for connections: so many of all, and so many of one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::config::Connections;
use crate::telemetry::HTTP_CONNECTIONS;

/// All room there is.
pub(super) struct Slots {
    taken: Arc<Mutex<Taken>>,
    most: usize,
    most_of_one: usize,
}

#[derive(Default)]
struct Taken {
    all: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// Room for one connection, until it is dropped.
pub(super) struct Slot {
    taken: Arc<Mutex<Taken>>,
    address: IpAddr,
}

impl Slots {
    pub(super) fn new(limits: &Connections) -> Self {
        Self {
            taken: Arc::default(),
            most: limits.max_connections,
            most_of_one: limits.max_connections_per_address,
        }
    }

    /// Room for one more, if there is.
    pub(super) fn take(&self, address: IpAddr) -> Option<Slot> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let of_one = taken.by_address.get(&address).copied().unwrap_or(0);
        if taken.all >= self.most || of_one >= self.most_of_one {
            return None;
        }
        taken.all += 1;
        taken.by_address.insert(address, of_one + 1);
        metrics::gauge!(HTTP_CONNECTIONS).increment(1.0);
        Some(Slot {
            taken: Arc::clone(&self.taken),
            address,
        })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        metrics::gauge!(HTTP_CONNECTIONS).decrement(1.0);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.all -= 1;
        if let Some(of_one) = taken.by_address.get_mut(&self.address) {
            *of_one -= 1;
            if *of_one == 0 {
                taken.by_address.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_bounded_for_all_and_for_each_address() {
        let limits = Connections {
            max_connections: 3,
            max_connections_per_address: 2,
            ..Connections::default()
        };
        let slots = Slots::new(&limits);
        let address = |last| IpAddr::from([192, 0, 2, last]);
        let first = slots.take(address(1));
        let _second = slots.take(address(1));
        assert!(slots.take(address(1)).is_none());
        let _third = slots.take(address(2));
        assert!(slots.take(address(3)).is_none());
        drop(first);
        assert!(slots.take(address(3)).is_some());
        let taken = slots.taken.lock().unwrap();
        assert_eq!(taken.by_address.len(), 2);
    }
}
