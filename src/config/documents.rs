//! Which documents are known by their hash.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Invalid;

/// What trusted documents are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Trust {
    /// Nothing.
    Off,
    /// They are known by their id; others are executed too.
    Preferred,
    /// Nothing else is executed.
    Only,
}

/// Documents known by their hash.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Documents known by their hash")]
pub struct Documents {
    /// How much memory automatic persisted queries may take, in bytes; 0 switches them off
    #[arg(
        long,
        env = "LIKEWISE_PERSISTED_DOCUMENTS",
        default_value = "16777216",
        value_name = "BYTES"
    )]
    pub persisted_documents: u64,

    /// A manifest of trusted documents: Apollo's persisted query manifest, or a JSON object of ids and documents
    #[arg(long, env = "LIKEWISE_TRUSTED_DOCUMENTS", value_name = "FILE")]
    pub trusted_documents: Option<PathBuf>,

    /// What trusted documents are for: off, preferred (others are executed too) or only (no others are)
    #[arg(
        long,
        env = "LIKEWISE_TRUSTED_DOCUMENTS_MODE",
        default_value = "preferred",
        value_name = "off|preferred|only"
    )]
    pub trusted_documents_mode: Trust,
}

impl Documents {
    /// The text of the manifest, where trusted documents are used.
    ///
    /// # Errors
    /// There is none though nothing else may be executed, or it cannot be read.
    pub fn manifest(&self) -> Result<Option<String>, Invalid> {
        let setting = "LIKEWISE_TRUSTED_DOCUMENTS";
        match (&self.trusted_documents, self.trusted_documents_mode) {
            (_, Trust::Off) | (None, Trust::Preferred) => Ok(None),
            (None, Trust::Only) => {
                let reason = "is not set, and LIKEWISE_TRUSTED_DOCUMENTS_MODE is only: \
                              nothing could be executed";
                Err(Invalid::new(setting, reason))
            }
            (Some(path), _) => {
                let text = std::fs::read_to_string(path);
                let text = text.map_err(|error| {
                    Invalid::new(
                        setting,
                        format!("names a file that cannot be read: {error}"),
                    )
                });
                text.map(Some)
            }
        }
    }
}
