//! Names the environment variable of an option that has a wrong value: most people set the one and
//! have never seen the other.

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command, Error};

/// The same error, with the setting's name as a tip.
pub(super) fn named(mut error: Error, command: &Command) -> Error {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    // Written like `--listen <ADDRESS:PORT>`.
    let option = option.trim_start_matches("--").split([' ', '=']).next();
    let arguments = command.get_subcommands().flat_map(Command::get_arguments);
    let setting = arguments
        .filter(|argument| argument.get_long() == option)
        .find_map(Arg::get_env);
    if let Some(name) = setting {
        let tip = format!("in the environment it is named {}", name.display());
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tips);
    }
    error
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use super::*;
    use crate::config::Server;

    #[test]
    fn a_wrong_value_is_named_as_it_is_set() {
        let serve = Server::augment_args(Command::new("serve"));
        let mut command = Command::new("likewise")
            .subcommand(Command::new("migrate").arg(Arg::new("path")))
            .subcommand(serve);
        let arguments = ["likewise", "serve", "--request-timeout", "soon"];
        let error = command.try_get_matches_from_mut(arguments).unwrap_err();
        let text = named(error, &command).to_string();
        assert!(text.contains("--request-timeout"), "{text}");
        assert!(text.contains("named LIKEWISE_REQUEST_TIMEOUT"), "{text}");
    }

    #[test]
    fn other_mistakes_stay_as_they_are() {
        let mut command = Command::new("likewise").subcommand(Command::new("serve"));
        let arguments = ["likewise", "sreve"];
        let error = command.try_get_matches_from_mut(arguments).unwrap_err();
        assert!(named(error, &command).to_string().contains("'serve'"));
    }
}
