//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Runs the whole service under load and under faults, and checks that every promise was kept
///
/// Starts a Redis, a Postgres, two API nodes and two workers of its own, all on 127.0.0.1, and tokens of
/// its own. Clients like, unlike, toggle and read; meanwhile processes are killed and held still, servers
/// stopped, restarted and set back, wires cut, sets deleted. Afterwards it checks that no acknowledged change
/// was lost, none took effect twice, everything works again, and that API, Redis and SQL agree.
///
/// Ends with code 0 if all promises were kept, 1 if one was broken, and prints which. See docs/faults.md.
#[derive(Debug, Clone, Parser)]
#[command(name = "faults", max_term_width = 100)]
pub struct Arguments {
    /// How long faults are inflicted; start, recovery and checks come on top
    #[arg(long, default_value_t = 100, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(10..=86_400))]
    pub seconds: u64,

    /// What decides which faults come when, and what clients do; chosen at random if not given
    ///
    /// The same seed gives the same schedule of faults and the same wishes of clients. What interleaves
    /// in between is up to the machine, so a failure may need several replays to come back.
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,

    /// How many clients act at once, each with users of its own and one that it shares with another
    #[arg(long, default_value_t = 16, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(2..=200))]
    pub clients: u16,

    /// How many activities they like, the first ones much more often than the others
    #[arg(long, default_value_t = 24, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub activities: u16,

    /// How many operations a second the clients aim at together; retries come on top
    #[arg(long, default_value_t = 400, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rate: u32,

    /// When Redis brings its append-only file to the disk
    #[arg(long, default_value = "always", value_name = "WHEN")]
    pub fsync: Fsync,

    /// Inflict only faults whose name contains this, for example `restored` or `worker`
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,

    /// Print the schedule of faults and do nothing else
    #[arg(long)]
    pub plan: bool,

    /// Also write the report to this file
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,

    /// Where logs of all processes go if a promise was broken
    #[arg(long, value_name = "FOLDER", default_value = "target/faults")]
    pub logs: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fsync {
    /// Before it answers. What is acknowledged survives a kill, without exception. The file lies in
    /// memory where the system has a folder for that, so that the run does not measure the disk
    Always,
    /// Once a second. A write may then wait while the disk is busy, so that a kill may take
    /// what was acknowledged in the last moments; the checks allow for three seconds
    Everysec,
}

impl Fsync {
    /// As Redis spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Everysec => "everysec",
        }
    }
}
