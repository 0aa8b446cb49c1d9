//! What every request passes before it is validated, whatever way it comes: in time linear in its document.
//!
//! async-graphql checks its own limits while it validates, and validation walks into every fragment wherever it
//! is spread: 800 bytes of fragments that spread others twice keep it busy for minutes, and as nothing in it
//! awaits, no timeout ends it. So sizes are taken first, and nothing too large gets that far.

mod arguments;
mod limit;
mod operation;
mod size;
mod tokens;

#[cfg(test)]
use async_graphql::parser::types::ExecutableDocument;
use async_graphql::parser::types::OperationType;
use async_graphql::parser::{Error as SyntaxError, parse_query};
use async_graphql::{Request, Variables};

use super::document::Survey;
use super::documents::Keep;
use super::error::{Error, Result};
use super::shape::Shape;
use crate::config::Limits;
use crate::domain::Cost;
pub use arguments::{NODES_LARGEST, TOP_LIKERS_LARGEST, TOP_LIKERS_USUAL, top_likers};
pub use limit::{Excess, Limit};
use size::{Size, Sizes};

/// What a field at the root costs beside what it answers: it may need a statement of its own.
const LOOK_UP: usize = 50;
/// What a change costs beside what it answers.
const CHANGE: usize = 500;
/// `GraphiQL` and code generators ask 15 deep for the types of types.
const INTROSPECTION_DEPTH: usize = 20;
/// `GraphiQL`'s own query comes to about 60,000 by the usual sizes of lists; its answer has a tenth of that.
const INTROSPECTION: usize = 150_000;
/// Values of the schema need no look-up anywhere.
const INTROSPECTION_WEIGHT: usize = 20;
/// What of the parser's explanation is passed on; it quotes the document.
const EXPLANATION_CHARS: usize = 200;
/// Names in logs and errors are cut here.
const LONGEST_NAME: usize = 64;

/// A request that may be executed.
#[derive(Debug)]
pub struct Prepared {
    /// With its document parsed: nothing reads the text a second time.
    pub request: Request,
    /// What kind of operation is to be executed.
    pub kind: OperationType,
    /// The operation's name, cut for the log.
    pub name: Option<String>,
    /// What it will cost.
    pub cost: Cost,
    /// How large it is, with its variables; what validation takes goes by this.
    pub bytes: usize,
    /// To be kept once it has turned out to be valid.
    pub keep: Option<Keep>,
    pub(super) survey: Survey,
    pub(super) shape: Shape,
    pub(super) most_errors: usize,
}

/// Reads a document and sees that it is worth executing. Validation comes after this.
///
/// # Errors
/// `BAD_USER_INPUT`, with `extensions.limit` where there is too much of something.
pub fn prepare(
    text: String,
    operation_name: Option<String>,
    variables: Variables,
    limits: &Limits,
) -> Result<Prepared> {
    if text.len() > limits.max_document {
        return Err(Excess::new(Limit::Document, limits.max_document).into());
    }
    tokens::check(&text, limits.max_tokens)?;
    let document = parse_query(&text).map_err(|error| syntax(&error))?;
    let mut sizes = Sizes::new(&document, &variables);
    let (operations, fragments) = sizes.measure()?;
    let (survey, unused) = (sizes.survey, sizes.unused);
    check_document(&operations, &fragments, limits)?;
    if let Some((name, at)) = unused {
        let text = format!("The fragment {} is never used.", cut(name));
        return Err(Error::bad_document(text, Some(at)));
    }

    let wanted = operation_name.as_deref();
    let (at, name, operation) = operation::selected(&document, wanted)?;
    operation::check_variables(operation, &variables)?;
    let kind = operation.ty;
    let name = name.map(cut);
    let cost = check_operation(operations[at], kind, limits)?;
    let shape = Shape::of(&document, wanted);
    let bytes = text.len();
    let mut request = Request::new(text).variables(variables);
    request.operation_name = operation_name;
    request.set_parsed_query(document);
    Ok(Prepared {
        request,
        kind,
        name,
        cost,
        bytes,
        keep: None,
        survey,
        shape,
        most_errors: limits.max_errors,
    })
}

fn cut(name: &str) -> String {
    name.chars().take(LONGEST_NAME).collect()
}

/// What all of a document has to keep to: validation looks at all of it.
fn check_document(operations: &[Size], fragments: &[Size], limits: &Limits) -> Result<()> {
    let total = |of: fn(&Size) -> usize| {
        let sum = operations.iter().map(of).fold(0, usize::saturating_add);
        fragments.iter().map(of).fold(sum, usize::max)
    };
    let all = || operations.iter().chain(fragments);
    let deepest = |of: fn(&Size) -> usize| all().map(of).max().unwrap_or(0);
    let rules = [
        (Limit::Fields, total(|size| size.fields), limits.max_fields),
        (
            Limit::Aliases,
            total(|size| size.aliases),
            limits.max_aliases,
        ),
        (
            Limit::Directives,
            total(|size| size.directives),
            limits.max_directives,
        ),
        (
            Limit::Introspection,
            total(|size| size.introspection),
            INTROSPECTION,
        ),
        (
            Limit::Depth,
            operations.iter().map(|size| size.depth).max().unwrap_or(0),
            limits.max_depth,
        ),
        (
            Limit::Depth,
            deepest(|size| size.introspection_depth),
            INTROSPECTION_DEPTH,
        ),
    ];
    within(&rules)
}

/// What the operation has to keep to that is executed; what it will cost.
fn check_operation(size: Size, kind: OperationType, limits: &Limits) -> Result<Cost> {
    let is_mutation = kind == OperationType::Mutation;
    let changes = if is_mutation { size.width } else { 0 };
    let at_root = if is_mutation { CHANGE } else { LOOK_UP };
    let cost = size.width.saturating_mul(at_root).saturating_add(size.cost);
    within(&[
        (Limit::Mutations, changes, limits.max_mutations),
        (Limit::RootFields, size.width, limits.max_root_fields),
        (Limit::Cost, cost, limits.max_cost),
    ])?;
    let reads = cost + size.introspection / INTROSPECTION_WEIGHT;
    Ok(Cost { reads, changes })
}

fn within(rules: &[(Limit, usize, usize)]) -> Result<()> {
    match rules.iter().find(|(_, is, most)| is > most) {
        Some((limit, _, most)) => Err(Excess::new(*limit, *most).into()),
        None => Ok(()),
    }
}

/// The parser's explanation without the document that it quotes.
fn syntax(error: &SyntaxError) -> Error {
    let text = error.to_string();
    let reason = text.lines().find_map(|line| line.trim().strip_prefix("= "));
    let reason = reason.unwrap_or(text.lines().next().unwrap_or_default());
    let reason: String = reason.chars().take(EXPLANATION_CHARS).collect();
    let at = error.positions().next();
    Error::bad_document(format!("The query cannot be read: {reason}."), at)
}

/// The documents that tests are made of.
#[cfg(test)]
pub(super) fn survey_of(document: &ExecutableDocument, variables: &Variables) -> Survey {
    let mut sizes = Sizes::new(document, variables);
    sizes.measure().unwrap();
    sizes.survey
}

#[cfg(test)]
mod tests;
