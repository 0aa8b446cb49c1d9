//! How likes lie in Redis.

use std::num::NonZeroU16;
use std::time::Duration;

use clap::Args;

use super::value;

/// The shape and the lifetimes of what Redis holds. The same for all processes of one service.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Likes in Redis (the same for every process of one service)")]
pub struct Cache {
    /// Over how many partitions activities are spread, from 1 to 1024; fixed once there is data
    ///
    /// Each has its own queue and is worked on by one worker at a time.
    #[arg(
        long,
        env = "LIKEWISE_PARTITIONS",
        default_value = "16",
        value_name = "NUMBER",
        value_parser = value::partitions
    )]
    pub partitions: NonZeroU16,

    /// What the keys begin with, so that several services can share one Redis
    #[arg(
        long,
        env = "LIKEWISE_KEY_PREFIX",
        default_value = "likes",
        value_name = "TEXT",
        value_parser = value::key_prefix
    )]
    pub key_prefix: String,

    /// How long the likes of an activity stay in Redis once the database has them
    ///
    /// It is a tenth more or less, at random, so that sets made together do not expire together.
    #[arg(
        long,
        env = "LIKEWISE_CACHE_TTL",
        default_value = "24h",
        value_name = "TIME",
        value_parser = value::duration
    )]
    pub cache_ttl: Duration,

    /// How long the outcome under an idempotency key is remembered
    #[arg(
        long,
        env = "LIKEWISE_IDEMPOTENCY_TTL",
        default_value = "24h",
        value_name = "TIME",
        value_parser = value::duration
    )]
    pub idempotency_ttl: Duration,

    /// How many events may wait for the database, over all partitions; past it, new likes are refused
    ///
    /// An event takes about 100 bytes of Redis' memory.
    #[arg(
        long,
        env = "LIKEWISE_MAX_BACKLOG",
        default_value = "1000000",
        value_name = "NUMBER",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000)
    )]
    pub max_backlog: u64,
}
