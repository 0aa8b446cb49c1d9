//! The program: parse, run, report.

use std::error::Error;
use std::process::ExitCode;

use likewise::cli::{self, Cli};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // TLS to Redis, the database and identity providers; the first call in a process cannot fail.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    match cli::run(Cli::parse_or_exit()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("likewise: {}", sentence(&error));
            error.exit_code()
        }
    }
}

/// What failed and why, cause after cause.
fn sentence(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
