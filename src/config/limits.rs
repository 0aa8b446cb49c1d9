//! How large a request may be, and how much it may ask for.

use clap::{Args, builder::RangedU64ValueParser};

/// The largest that any of these can be set to: above it, a document could outgrow the stack or the memory.
const LARGEST: u64 = 1_000_000;

fn number() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=LARGEST)
}

fn bytes() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=100 * LARGEST)
}

/// Limits of one request. What is beyond them is refused before anything of it is executed, with
/// `extensions.limit` naming the limit.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Limits of one request")]
pub struct Limits {
    /// The largest body, in bytes
    #[arg(long, env = "LIKEWISE_MAX_BODY", default_value_t = Self::default().max_body, value_name = "BYTES", value_parser = bytes())]
    pub max_body: usize,

    /// The longest GraphQL document, in bytes
    #[arg(long, env = "LIKEWISE_MAX_DOCUMENT", default_value_t = Self::default().max_document, value_name = "BYTES", value_parser = bytes())]
    pub max_document: usize,

    /// The most words and signs of a document
    #[arg(long, env = "LIKEWISE_MAX_TOKENS", default_value_t = Self::default().max_tokens, value_name = "NUMBER", value_parser = number())]
    pub max_tokens: usize,

    /// The most fields within fields; introspection may go deeper, as tools need it
    #[arg(long, env = "LIKEWISE_MAX_DEPTH", default_value_t = Self::default().max_depth, value_name = "NUMBER", value_parser = number())]
    pub max_depth: usize,

    /// The most fields, those of a fragment counted wherever it is spread
    #[arg(long, env = "LIKEWISE_MAX_FIELDS", default_value_t = Self::default().max_fields, value_name = "NUMBER", value_parser = number())]
    pub max_fields: usize,

    /// The most aliases, counted like fields
    #[arg(long, env = "LIKEWISE_MAX_ALIASES", default_value_t = Self::default().max_aliases, value_name = "NUMBER", value_parser = number())]
    pub max_aliases: usize,

    /// The most fields at the root of an operation
    #[arg(long, env = "LIKEWISE_MAX_ROOT_FIELDS", default_value_t = Self::default().max_root_fields, value_name = "NUMBER", value_parser = number())]
    pub max_root_fields: usize,

    /// The most changes of one mutation
    #[arg(long, env = "LIKEWISE_MAX_MUTATIONS", default_value_t = Self::default().max_mutations, value_name = "NUMBER", value_parser = number())]
    pub max_mutations: usize,

    /// The most directives, counted like fields
    #[arg(long, env = "LIKEWISE_MAX_DIRECTIVES", default_value_t = Self::default().max_directives, value_name = "NUMBER", value_parser = number())]
    pub max_directives: usize,

    /// The highest cost of an operation: by and large the most values that it may answer with
    ///
    /// A page of a hundred activities with every field costs about 4,000.
    #[arg(long, env = "LIKEWISE_MAX_COST", default_value_t = Self::default().max_cost, value_name = "NUMBER", value_parser = number())]
    pub max_cost: usize,

    /// The most errors of one answer
    #[arg(long, env = "LIKEWISE_MAX_ERRORS", default_value_t = Self::default().max_errors, value_name = "NUMBER", value_parser = number())]
    pub max_errors: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body: 256 * 1024,
            max_document: 32 * 1024,
            max_tokens: 2_000,
            max_depth: 12,
            max_fields: 2_000,
            max_aliases: 30,
            max_root_fields: 20,
            max_mutations: 5,
            max_directives: 50,
            max_cost: 20_000,
            max_errors: 20,
        }
    }
}
