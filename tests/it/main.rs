//! Tests against real servers: one binary, one harness.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails, and a panic says where"
)]

mod durability;
mod harness;
#[cfg(feature = "fault-points")]
mod points;
mod race;
mod servers;
mod service;
mod store;
mod traps;
