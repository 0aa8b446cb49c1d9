//! Likewise, a like service. This is its table of contents, in the order of a request.

pub mod graphql;

pub mod likes;

pub mod store;

pub mod domain;
pub mod telemetry;
