//! Tests against real servers: one binary, one harness.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails, and a panic says where"
)]
#![expect(
    clippy::many_single_char_names,
    reason = "users are a, b, c; activities x, y"
)]

mod durability;
mod faults;
mod harness;
mod huge;
mod live;
#[cfg(feature = "fault-points")]
mod points;
mod program;
#[expect(dead_code, reason = "the fault run uses the rest")]
#[path = "../support/proxy.rs"]
mod proxy;
mod race;
mod rates;
#[expect(dead_code, unused_imports, reason = "the fault run uses the rest")]
#[path = "../support/servers/mod.rs"]
mod servers;
mod service;
mod store;
mod traps;
