//! How many connections and requests there may be at once.

use std::time::Duration;

use clap::{Args, builder::RangedU64ValueParser};

use super::value;

fn number() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=10_000_000)
}

/// What all clients together may hold.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Connections")]
pub struct Connections {
    /// The most connections at once; more are answered with 503. Each needs a file descriptor
    #[arg(long, env = "LIKEWISE_MAX_CONNECTIONS", default_value_t = Self::default().max_connections, value_name = "NUMBER", value_parser = number())]
    pub max_connections: usize,

    /// The most connections of one address; behind a proxy, all of them come from its address
    #[arg(long, env = "LIKEWISE_MAX_CONNECTIONS_PER_ADDRESS", default_value_t = Self::default().max_connections_per_address, value_name = "NUMBER", value_parser = number())]
    pub max_connections_per_address: usize,

    /// The most requests that are worked on at once; more are answered with 503
    #[arg(long, env = "LIKEWISE_MAX_REQUESTS", default_value_t = Self::default().max_requests, value_name = "NUMBER", value_parser = number())]
    pub max_requests: usize,

    /// How long a connection may take to send the head of its next request
    #[arg(long, env = "LIKEWISE_HEADER_TIMEOUT", default_value = "15s", value_name = "TIME", value_parser = value::duration)]
    pub header_timeout: Duration,

    /// How long a client may take nothing of what is sent to it; about as long as a phone is in a tunnel
    #[arg(long, env = "LIKEWISE_SEND_TIMEOUT", default_value = "30s", value_name = "TIME", value_parser = value::duration)]
    pub send_timeout: Duration,
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            max_connections: 10_000,
            max_connections_per_address: 2_500,
            max_requests: 1_000,
            header_timeout: Duration::from_secs(15),
            send_timeout: Duration::from_secs(30),
        }
    }
}
