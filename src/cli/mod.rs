//! The command line: one small file a command.

mod dev;
mod load;
mod migrate;
mod reconcile;
mod schema;
mod serve;
mod setting;
mod token;
mod worker;

use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::config::Invalid;
use crate::{app, likes, shutdown, store};

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
    Dev(dev::Dev),
    Serve(serve::Serve),
    Worker(worker::WorkerCommand),
    Migrate(migrate::Migrate),
    Reconcile(reconcile::ReconcileCommand),
    Load(load::Load),
    Token(token::Token),
    Schema(schema::Schema),
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting cannot be used.
    #[error(transparent)]
    Setting(#[from] Invalid),
    /// The process could not be put together.
    #[error(transparent)]
    App(#[from] app::Error),
    /// The process ended otherwise than asked.
    #[error(transparent)]
    Shutdown(#[from] shutdown::Error),
    /// The database failed.
    #[error("the database failed the command")]
    Store(#[from] store::Error),
    /// Redis or the database failed.
    #[error("the command could not be finished")]
    Likes(#[from] likes::Error),
    /// The data folder of `dev` cannot be used.
    #[error(transparent)]
    Data(#[from] dev::DataError),
    /// The private Redis of `dev` cannot be used.
    #[error(transparent)]
    Redis(#[from] dev::RedisError),
    /// A token was not signed.
    #[error("a token cannot be signed")]
    Sign(#[from] jsonwebtoken::errors::Error),
    /// Something of the operating system.
    #[error("the operating system refuses")]
    System(#[from] io::Error),
}

impl Error {
    /// What the program ends with.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Setting(_) | Self::App(app::Error::Setting(_)) => ExitCode::from(EXIT_USAGE),
            _ => ExitCode::FAILURE,
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
    let runtime = tokio::runtime::Runtime::new()?;
    let is_good = runtime.block_on(async {
        match cli.command {
            Command::Dev(command) => command.run().await,
            Command::Serve(command) => command.run().await,
            Command::Worker(command) => command.run().await,
            Command::Migrate(command) => command.run().await,
            Command::Reconcile(command) => command.run().await,
            Command::Load(command) => command.run().await,
            Command::Token(command) => command.run(),
            Command::Schema(schema::Schema {}) => Ok(schema::print()),
        }
    })?;
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

    #[test]
    fn each_setting_is_named_after_its_option_and_stands_in_the_example() {
        let example = include_str!("../../.env.example");
        let command = Cli::command();
        let arguments = command
            .get_subcommands()
            .flat_map(clap::Command::get_arguments);
        for argument in arguments {
            let Some(setting) = argument.get_env().and_then(|name| name.to_str()) else {
                continue;
            };
            let option = argument
                .get_long()
                .unwrap()
                .to_uppercase()
                .replace('-', "_");
            assert_eq!(setting.trim_start_matches("LIKEWISE_"), option);
            assert!(
                example.contains(&format!("{setting}=")),
                "{setting} is missing"
            );
        }
    }
}
