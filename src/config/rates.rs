//! How much one caller may do.

use std::num::NonZeroU32;
use std::time::Duration;

use axum::http::HeaderName;
use clap::{Args, ValueEnum};

use super::{Invalid, value};

/// Where it is counted what callers do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RateLimits {
    /// In each process by itself.
    Process,
    /// In Redis, for all processes together; where that is away, in each process.
    Shared,
    /// Nowhere: everybody may do anything.
    Off,
}

/// Limits of what one user does, or one address without a token.
#[derive(Debug, Clone, Args)]
#[expect(clippy::doc_markdown, reason = "help texts are read without Markdown")]
#[command(next_help_heading = "Rate limits of one user, or of one address without a token")]
pub struct Rates {
    /// Where it is counted what callers do: process, shared (in Redis, for all processes) or off
    #[arg(
        long,
        env = "LIKEWISE_RATE_LIMITS",
        default_value = "process",
        value_name = "process|shared|off"
    )]
    pub rate_limits: RateLimits,

    /// How much may be read in a second, as LIKEWISE_MAX_COST counts it
    ///
    /// One activity costs about 60, a page of 20 with all their likes about 800.
    #[arg(
        long,
        env = "LIKEWISE_READ_RATE",
        default_value = "200000",
        value_name = "NUMBER"
    )]
    pub read_rate: NonZeroU32,

    /// How many changes may be made in a second; each alias of a mutation is one
    #[arg(
        long,
        env = "LIKEWISE_CHANGE_RATE",
        default_value = "200",
        value_name = "NUMBER"
    )]
    pub change_rate: NonZeroU32,

    /// For how long what was not used may be saved up, and used at once
    #[arg(
        long,
        env = "LIKEWISE_RATE_BURST",
        default_value = "10s",
        value_name = "TIME",
        value_parser = value::duration
    )]
    pub rate_burst: Duration,

    /// The header in which a proxy in front names the client's address, such as X-Forwarded-For
    ///
    /// Its last address is believed. Without a proxy that sets it, anybody could write anything there.
    #[arg(long, env = "LIKEWISE_CLIENT_ADDRESS_HEADER", value_name = "HEADER")]
    pub client_address_header: Option<String>,
}

impl Rates {
    /// The header in which a proxy names the client's address.
    ///
    /// # Errors
    /// It cannot be the name of a header.
    pub fn client_address_header(&self) -> Result<Option<HeaderName>, Invalid> {
        let name = self.client_address_header.as_deref();
        let name = name.map(str::parse::<HeaderName>).transpose();
        let reason = "is not the name of a header, such as X-Forwarded-For";
        name.map_err(|_| Invalid::new("LIKEWISE_CLIENT_ADDRESS_HEADER", reason))
    }

    /// How much may be saved up at a rate a second: at least what one request may cost.
    pub fn burst(&self, rate: NonZeroU32, least: u32) -> NonZeroU32 {
        let seconds = u32::try_from(self.rate_burst.as_secs()).unwrap_or(u32::MAX);
        let burst = rate.get().saturating_mul(seconds.max(1)).max(least);
        NonZeroU32::new(burst).unwrap_or(rate)
    }
}
