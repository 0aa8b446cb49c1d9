//! Likewise, a like service. This is its table of contents, in the order of a request.

pub mod cli;

pub mod app;

pub mod http;

pub mod graphql;

pub mod rates;

pub mod likes;

pub mod cache;
pub mod store;
pub mod worker;

pub mod config;
pub mod domain;
pub mod fault;
pub mod shutdown;
pub mod telemetry;
