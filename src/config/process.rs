//! What every running process has: logs, metrics and an end.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::value;

/// A process that runs until it is told to stop.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Process")]
pub struct Process {
    /// Where Prometheus fetches metrics, at `/metrics`; `/livez` and `/readyz` are there too
    #[arg(
        long,
        env = "LIKEWISE_METRICS_LISTEN",
        default_value = "127.0.0.1:9464",
        value_name = "ADDRESS:PORT"
    )]
    pub metrics_listen: SocketAddr,

    /// How long work under way may take to finish after SIGTERM or Ctrl-C; a second one ends at once
    #[arg(
        long,
        env = "LIKEWISE_SHUTDOWN_GRACE",
        default_value = "10s",
        value_name = "TIME",
        value_parser = value::duration
    )]
    pub shutdown_grace: Duration,
}

/// The log, written to standard error.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Log")]
pub struct Log {
    /// Which lines are logged, such as `info`, `debug` or `warn,likewise::worker=debug`
    #[arg(
        long,
        env = "LIKEWISE_LOG",
        default_value = "info",
        value_name = "FILTER"
    )]
    pub log: String,

    /// Lines for people or for machines
    #[arg(
        long,
        env = "LIKEWISE_LOG_FORMAT",
        default_value = "text",
        value_name = "FORMAT"
    )]
    pub log_format: LogFormat,
}

/// The shape of a line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}
