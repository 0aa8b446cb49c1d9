//! Subscriptions: who may open sockets and how much they may ask of this process.

use std::time::Duration;

use clap::Args;
use url::Url;

use super::value;

/// WebSockets and server-sent events.
#[derive(Debug, Clone, Args)]
#[expect(clippy::doc_markdown, reason = "help texts are read without Markdown")]
#[command(next_help_heading = "Subscriptions")]
pub struct Live {
    /// Origins of pages that may use the API and open WebSockets, separated by commas, such as https://app.example
    ///
    /// Pages of the host that they connect to always may, and so may whatever is no browser and sends no origin.
    #[arg(
        long,
        env = "LIKEWISE_ORIGINS",
        value_name = "ORIGIN,...",
        value_delimiter = ',',
        value_parser = origin
    )]
    pub origins: Vec<String>,

    /// The largest message that a WebSocket may send, in bytes
    #[arg(
        long,
        env = "LIKEWISE_SOCKET_MESSAGE_BYTES",
        default_value = "65536",
        value_name = "NUMBER",
        value_parser = clap::value_parser!(u32).range(1024..=16_777_216)
    )]
    pub socket_message_bytes: u32,

    /// How many operations a WebSocket may have under way at once
    #[arg(
        long,
        env = "LIKEWISE_SOCKET_OPERATIONS",
        default_value = "50",
        value_name = "NUMBER",
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    pub socket_operations: u16,

    /// How long a new WebSocket may take to introduce itself (connection_init)
    #[arg(
        long,
        env = "LIKEWISE_SOCKET_INIT_TIMEOUT",
        default_value = "3s",
        value_name = "TIME",
        value_parser = value::duration
    )]
    pub socket_init_timeout: Duration,

    /// How often a WebSocket is asked whether it is still there, and an event stream told so
    ///
    /// A socket that has said nothing for twice this time is closed.
    #[arg(
        long,
        env = "LIKEWISE_SOCKET_PING",
        default_value = "15s",
        value_name = "TIME",
        value_parser = value::duration
    )]
    pub socket_ping: Duration,
}

/// Reads an origin as browsers write it (RFC 6454, section 6.2).
fn origin(text: &str) -> Result<String, String> {
    let url = Url::parse(text.trim()).ok();
    let url = url.filter(|url| {
        let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        url.has_host() && bare && url.username().is_empty() && url.password().is_none()
    });
    let origin = url.map(|url| url.origin().ascii_serialization());
    origin.filter(|origin| origin != "null").ok_or_else(|| {
        "an origin is written like https://app.example or http://localhost:3000".into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_written_as_browsers_write_them() {
        assert_eq!(
            origin("https://App.example:443/"),
            Ok("https://app.example".into())
        );
        assert_eq!(origin(" http://[::1]:3000"), Ok("http://[::1]:3000".into()));
        for text in [
            "",
            "*",
            "null",
            "app.example",
            "https://a.example/path",
            "file:///a",
        ] {
            assert!(origin(text).is_err(), "{text:?}");
        }
    }
}
