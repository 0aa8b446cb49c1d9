//! Where log lines go, and in which shape.

use std::io::IsTerminal;
use std::panic::{self, PanicHookInfo};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{Invalid, Log, LogFormat};

/// Writes log lines to standard error, panics included. Where something listens already, it stays.
///
/// # Errors
/// The filter cannot be understood.
pub fn init_logs(log: &Log) -> Result<(), Invalid> {
    let filter = EnvFilter::try_new(&log.log).map_err(|error| Invalid {
        setting: "LIKEWISE_LOG",
        reason: format!("is not a filter like info or warn,likewise=debug: {error}"),
    })?;
    let lines = fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let set = match log.log_format {
        LogFormat::Text => {
            let colours = std::io::stderr().is_terminal();
            lines.with_ansi(colours).finish().try_init()
        }
        LogFormat::Json => lines.json().flatten_event(true).finish().try_init(),
    };
    // Only tests set up logs more than once in a process.
    if set.is_ok() {
        panic::set_hook(Box::new(log_panic));
    }
    Ok(())
}

/// A panic is a line like any other, so that it is found where lines are searched.
fn log_panic(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string);
    let text = info.payload_as_str().unwrap_or("no text");
    let backtrace = std::backtrace::Backtrace::capture();
    tracing::error!(panic.text = text, panic.place = place, %backtrace, "panicked");
}
