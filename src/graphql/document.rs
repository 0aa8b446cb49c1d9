//! What a document asks for, seen before it is executed: so that one look at an activity's likes
//! answers all fields about them, however often and with whatever arguments they occur.

use std::collections::HashMap;

use async_graphql::parser::types::{
    DocumentOperations, ExecutableDocument, Field, OperationDefinition, OperationType, Selection,
    SelectionSet,
};
use async_graphql::{Name, Value, Variables};

use super::error::{Code, Error, Result};
use crate::domain::Look;

/// The most of `topLikers(first:)`: faces that fit beside one activity, several times over.
pub const TOP_LIKERS_LARGEST: usize = 50;
/// `topLikers` when nobody says how many.
pub const TOP_LIKERS_USUAL: i64 = 5;
/// The most fields, each fragment counted wherever it is spread. Introspection has about 200. Fragments
/// that spread others twice grow exponentially, and validation would walk through all of it.
const FIELDS: usize = 4_000;

/// What a document asks of likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Survey {
    /// The look that is enough for every field about likes.
    pub look: Look,
    /// Whether any of them depends on who asks.
    pub viewer: bool,
}

/// The operation that will be executed, if there is one.
pub fn selected<'a>(
    document: &'a ExecutableDocument,
    name: Option<&str>,
) -> Option<&'a OperationDefinition> {
    let selected = match (&document.operations, name) {
        (DocumentOperations::Single(single), _) => Some(single),
        (DocumentOperations::Multiple(all), Some(name)) => all.get(name),
        (DocumentOperations::Multiple(all), None) => all.values().next(),
    };
    selected.map(|operation| &operation.node)
}

/// Whether what will be executed changes anything.
pub fn is_mutation(document: &ExecutableDocument, name: Option<&str>) -> bool {
    selected(document, name).is_some_and(|it| it.ty == OperationType::Mutation)
}

/// Scans all fields of a document, those of unused operations and skipped fields included: asking for
/// a little too much is harmless.
///
/// # Errors
/// A document that is too large, or whose fragments contain themselves.
pub fn survey(document: &ExecutableDocument, variables: &Variables) -> Result<Survey> {
    if Sizes::new(document).of_document() > FIELDS {
        let text = "This document has too many fields, or fragments that contain themselves.";
        return Err(Error::new(Code::BadUserInput, text));
    }
    let mut survey = Survey::default();
    let operations = document.operations.iter().map(|(_, it)| &it.node);
    let fragments = document.fragments.values().map(|it| &it.node);
    let sets = operations
        .map(|operation| &operation.selection_set.node)
        .chain(fragments.map(|fragment| &fragment.selection_set.node));
    for set in sets {
        each_field(set, &mut |field| match field.name.node.as_str() {
            "topLikers" => {
                let top = top_likers(field, document, variables);
                survey.look.top = survey.look.top.max(top);
            }
            "likeRank" => {
                survey.look.rank = true;
                survey.viewer = true;
            }
            "isLiked" => survey.viewer = true,
            _ => {}
        });
    }
    Ok(survey)
}

/// The number that one `topLikers` asks for. Wrong values are refused later, by the field itself.
fn top_likers(field: &Field, document: &ExecutableDocument, variables: &Variables) -> usize {
    let wanted = field.get_argument("first").and_then(|value| {
        let value = value.node.clone();
        let value = value.into_const_with(|name| variable(&name, document, variables).ok_or(()));
        value.ok().and_then(|value| number(&value))
    });
    let wanted = wanted.unwrap_or(TOP_LIKERS_USUAL).max(0);
    usize::try_from(wanted).map_or(TOP_LIKERS_LARGEST, |it| it.min(TOP_LIKERS_LARGEST))
}

/// A variable's value; else the largest of its defaults, since each operation has its own.
fn variable(name: &Name, document: &ExecutableDocument, variables: &Variables) -> Option<Value> {
    if let Some(value) = variables.get(name) {
        return Some(value.clone());
    }
    let operations = document.operations.iter();
    let definitions = operations.flat_map(|(_, it)| &it.node.variable_definitions);
    definitions
        .filter(|it| it.node.name.node == *name)
        .filter_map(|it| it.node.default_value.as_ref())
        .map(|it| it.node.clone())
        .max_by_key(number)
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        _ => None,
    }
}

fn each_field<'a>(set: &'a SelectionSet, visit: &mut impl FnMut(&'a Field)) {
    for selection in &set.items {
        match &selection.node {
            Selection::Field(field) => {
                visit(&field.node);
                each_field(&field.node.selection_set.node, visit);
            }
            Selection::InlineFragment(inline) => {
                each_field(&inline.node.selection_set.node, visit);
            }
            Selection::FragmentSpread(_) => {}
        }
    }
}

/// Counts fields with their fragments spread, each fragment once.
struct Sizes<'a> {
    document: &'a ExecutableDocument,
    /// None while a fragment is being counted: met again then, it contains itself.
    known: HashMap<&'a Name, Option<usize>>,
}

impl<'a> Sizes<'a> {
    fn new(document: &'a ExecutableDocument) -> Self {
        Self {
            document,
            known: HashMap::new(),
        }
    }

    fn of_document(&mut self) -> usize {
        let document = self.document;
        let fragments = document.fragments.keys();
        let of_fragments = fragments.map(|name| self.of_fragment(name)).max();
        let operations = document.operations.iter();
        let of_operations = operations.map(|(_, it)| self.of_set(&it.node.selection_set.node));
        let sum = of_operations.fold(0, usize::saturating_add);
        sum.max(of_fragments.unwrap_or(0))
    }

    fn of_set(&mut self, set: &'a SelectionSet) -> usize {
        let items = set.items.iter();
        let sizes = items.map(|selection| match &selection.node {
            Selection::Field(field) => self
                .of_set(&field.node.selection_set.node)
                .saturating_add(1),
            Selection::InlineFragment(inline) => self.of_set(&inline.node.selection_set.node),
            Selection::FragmentSpread(spread) => self.of_fragment(&spread.node.fragment_name.node),
        });
        sizes.fold(0, usize::saturating_add)
    }

    fn of_fragment(&mut self, name: &'a Name) -> usize {
        // An unknown fragment is refused by validation.
        let Some(fragment) = self.document.fragments.get(name) else {
            return 0;
        };
        if let Some(known) = self.known.get(name) {
            return known.unwrap_or(usize::MAX);
        }
        self.known.insert(name, None);
        let size = self.of_set(&fragment.node.selection_set.node);
        self.known.insert(name, Some(size));
        size
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_graphql::parser::parse_query;
    use async_graphql::value;
    use std::fmt::Write as _;

    fn of(query: &str, variables: Value) -> Result<Survey> {
        let document = parse_query(query).unwrap();
        survey(&document, &Variables::from_value(variables))
    }

    fn top(query: &str, variables: Value) -> usize {
        of(query, variables).unwrap().look.top
    }

    #[test]
    fn a_document_without_likes_looks_at_nothing() {
        let survey = of("{ activities { nodes { title likeCount } } }", value!({}));
        assert_eq!(survey, Ok(Survey::default()));
    }

    #[test]
    fn the_largest_number_of_top_likers_is_looked_at() {
        let none = value!({});
        assert_eq!(top("{ a { topLikers { id } } }", none.clone()), 5);
        assert_eq!(top("{ a { topLikers(first: 3) { id } } }", none.clone()), 3);
        assert_eq!(top("{ a { topLikers(first: 0) { id } } }", none.clone()), 0);
        assert_eq!(
            top("{ a { topLikers(first: -4) { id } } }", none.clone()),
            0
        );
        assert_eq!(
            top("{ a { topLikers(first: 9999) { id } } }", none.clone()),
            50
        );
        let several = "{ a { x: topLikers(first: 2) { id } ...F } }
            fragment F on Activity { ... on Activity { y: topLikers(first: 7) { id } } }";
        assert_eq!(top(several, none), 7);
    }

    #[test]
    fn variables_and_their_defaults_count() {
        let query = "query Q($n: Int! = 8) { a { topLikers(first: $n) { id } } }";
        assert_eq!(top(query, value!({})), 8);
        assert_eq!(top(query, value!({ "n": 12 })), 12);
        assert_eq!(top(query, value!({ "n": "many" })), 5);
        assert_eq!(top("{ a { topLikers(first: $n) { id } } }", value!({})), 5);
    }

    #[test]
    fn rank_and_viewer_are_noticed_also_in_fragments() {
        let survey = of("{ a { isLiked } }", value!({})).unwrap();
        assert!(survey.viewer && !survey.look.rank);
        let query = "{ a { ...F } } fragment F on Activity { r: likeRank }";
        let survey = of(query, value!({})).unwrap();
        assert!(survey.viewer && survey.look.rank);
    }

    #[test]
    fn fragments_that_grow_without_bound_are_refused() {
        let mut bomb = "{ a { ...F0 } }".to_owned();
        for i in 0..30 {
            let next = i + 1;
            writeln!(bomb, "fragment F{i} on A {{ ...F{next} ...F{next} }}").unwrap();
        }
        bomb += "fragment F30 on A { id }";
        assert!(of(&bomb, value!({})).is_err());
        let cycle = "{ a { id } } fragment F on A { ...G } fragment G on A { ...F }";
        assert!(of(cycle, value!({})).is_err());
    }
}
