//! What there can be too much of.

use async_graphql::Pos;

/// A limit of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Bytes of the body.
    Body,
    /// Bytes of the document.
    Document,
    /// Words and signs of the document.
    Tokens,
    /// Brackets within brackets.
    Nesting,
    /// Fields within fields.
    Depth,
    /// Fields, with fragments spread.
    Fields,
    /// Aliases, with fragments spread.
    Aliases,
    /// Fields at the root.
    RootFields,
    /// Changes of one mutation.
    Mutations,
    /// Directives, with fragments spread.
    Directives,
    /// Values that may have to be answered.
    Cost,
    /// Values of the schema that may have to be answered.
    Introspection,
    /// Fragments that contain themselves: none may.
    Cycle,
}

impl Limit {
    /// As it stands in `extensions.limit` and in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Body => "body",
            Self::Document => "document",
            Self::Tokens => "tokens",
            Self::Nesting => "nesting",
            Self::Depth => "depth",
            Self::Fields => "fields",
            Self::Aliases => "aliases",
            Self::RootFields => "root_fields",
            Self::Mutations => "mutations",
            Self::Directives => "directives",
            Self::Cost => "cost",
            Self::Introspection => "introspection",
            Self::Cycle => "cycle",
        }
    }

    /// What is counted, as the middle of a sentence.
    fn what(self) -> &'static str {
        match self {
            Self::Body => "bytes of a body",
            Self::Document => "bytes of a document",
            Self::Tokens => "words and signs of a document",
            Self::Nesting => "brackets within brackets",
            Self::Depth => "fields within fields",
            Self::Fields => "fields, with fragments spread,",
            Self::Aliases => "aliases, with fragments spread,",
            Self::RootFields => "fields at the root",
            Self::Mutations => "changes of one mutation",
            Self::Directives => "directives, with fragments spread,",
            Self::Cost => "values by the sizes of pages",
            Self::Introspection => "values of the schema",
            Self::Cycle => "fragments within themselves",
        }
    }
}

/// Too much of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Excess {
    /// Of what.
    pub limit: Limit,
    /// The most that there may be.
    pub most: usize,
    /// Where, if it is at one place.
    pub at: Option<Pos>,
}

impl Excess {
    /// More than `most` of something.
    pub fn new(limit: Limit, most: usize) -> Self {
        Self {
            limit,
            most,
            at: None,
        }
    }

    /// For the client.
    pub fn text(&self) -> String {
        match self.limit {
            Limit::Cycle => "A fragment contains itself.".to_owned(),
            limit => format!("At most {} {} are answered.", self.most, limit.what()),
        }
    }
}
