//! Where and how the API is served.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, builder::BoolishValueParser};

use super::{Invalid, Live, Process, Redis, value};

/// The API.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "API")]
pub struct Server {
    /// Where the API is served, at `/graphql`; `/livez` and `/readyz` are there too
    #[arg(
        long,
        env = "LIKEWISE_LISTEN",
        default_value = "127.0.0.1:8000",
        value_name = "ADDRESS:PORT"
    )]
    pub listen: SocketAddr,

    /// How long a request may take before it is answered with UNAVAILABLE
    #[arg(
        long,
        env = "LIKEWISE_REQUEST_TIMEOUT",
        default_value = "10s",
        value_name = "TIME",
        value_parser = value::duration
    )]
    pub request_timeout: Duration,

    /// Whether the schema can be asked about itself, and mistyped names are answered with suggestions
    #[arg(
        long,
        env = "LIKEWISE_INTROSPECTION",
        default_value = "true",
        value_name = "true|false",
        action = clap::ArgAction::Set,
        value_parser = BoolishValueParser::new()
    )]
    pub introspection: bool,

    /// Whether this process also carries events to the database, as `likewise worker` does
    #[arg(
        long,
        env = "LIKEWISE_WORKER",
        default_value = "true",
        value_name = "true|false",
        action = clap::ArgAction::Set,
        value_parser = BoolishValueParser::new()
    )]
    pub worker: bool,

    /// What goes on longer than a request.
    #[command(flatten)]
    pub live: Live,
}

impl Server {
    /// Finds what contradicts other sections.
    ///
    /// # Errors
    /// Names the setting that cannot be used together with another.
    pub fn check(&self, process: &Process, redis: &Redis) -> Result<(), Invalid> {
        // Port 0 takes any free port, so two of them are two.
        if self.listen == process.metrics_listen && self.listen.port() != 0 {
            let reason = "is the address of LIKEWISE_LISTEN; metrics need one of their own";
            return Err(Invalid::new("LIKEWISE_METRICS_LISTEN", reason));
        }
        if self.request_timeout <= redis.redis_timeout {
            let reason = "is not longer than LIKEWISE_REDIS_TIMEOUT, \
                          so requests would end before Redis counts as away";
            return Err(Invalid::new("LIKEWISE_REQUEST_TIMEOUT", reason));
        }
        Ok(())
    }
}
