//! How events are carried to the database.

use clap::Args;

/// The worker.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Worker")]
pub struct Worker {
    /// How many events at most one transaction persists
    #[arg(
        long,
        env = "LIKEWISE_BATCH",
        default_value = "1000",
        value_name = "NUMBER",
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=100_000)
    )]
    pub batch: usize,
}
