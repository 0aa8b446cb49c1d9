//! The command line: one small file a command.

mod schema;
mod setting;
mod token;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::config::Invalid;

/// Wrong usage, as clap and most programs have it.
const EXIT_USAGE: u8 = 2;

/// Likewise, a like service: Redis answers, SQL keeps, GraphQL serves
///
/// Every setting is an option and an environment variable; the option wins.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Schema(schema::Schema),
    Token(token::Token),
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting cannot be used.
    #[error(transparent)]
    Setting(#[from] Invalid),
}

impl Error {
    /// What the program ends with.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Setting(_) => ExitCode::from(EXIT_USAGE),
        }
    }
}

impl Cli {
    /// Reads the command line and the environment. On a mistake, and for `--help`, says what there is
    /// to say and ends the process.
    pub fn parse_or_exit() -> Self {
        let mut command = Self::command();
        let parsed = command.try_get_matches_from_mut(std::env::args_os());
        let parsed = parsed.and_then(|matches| Self::from_arg_matches(&matches));
        parsed.unwrap_or_else(|error| setting::named(error, &command).exit())
    }
}

/// Runs a command.
///
/// # Errors
/// Says what failed, and why.
pub fn run(cli: Cli) -> Result<ExitCode, Error> {
    let is_good = match cli.command {
        Command::Schema(schema::Schema {}) => schema::print(),
        Command::Token(command) => command.run()?,
    };
    // A command can do its work and find that something is not as it should be.
    Ok(if is_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_contradicts_itself_nowhere() {
        Cli::command().debug_assert();
    }
}
