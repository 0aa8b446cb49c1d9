//! Likes as they change, over sockets and event streams.

mod ending;
mod events;
mod faults;
mod pace;
mod probes;
pub mod socket;
mod stream;
