//! `likewise schema`: the API as text.

use std::io::{self, Write};

use clap::Args;

/// Prints the GraphQL schema, for code generators and editors
#[derive(Debug, Args)]
pub struct Schema {}

/// Whether all of it was written: whoever reads may stop early.
pub(super) fn print() -> bool {
    let schema = crate::graphql::sdl();
    io::stdout().write_all(schema.as_bytes()).is_ok()
}
