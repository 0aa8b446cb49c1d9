//! How many items a list may have, by the arguments that say so.

use async_graphql::parser::types::{ExecutableDocument, Field};
use async_graphql::{Name, Value, Variables};

use crate::graphql::page;

/// `topLikers` when nobody says how many.
pub const TOP_LIKERS_USUAL: i64 = 5;
/// The most of `topLikers(first:)`: faces that fit beside one activity, several times over.
pub const TOP_LIKERS_LARGEST: usize = 50;
/// The most ids of `nodes`.
pub const NODES_LARGEST: usize = 100;

/// The most items of a field's list; 1 for what is no list, or the inside of a page. Sizes out of bounds are
/// refused later, by the field itself; here they count as the nearest that is allowed.
pub fn items(field: &Field, document: &ExecutableDocument, variables: &Variables) -> usize {
    let argument = |name: &str| argument(field, name, document, variables);
    match field.name.node.as_str() {
        "activities" | "likers" | "likedActivities" => {
            let size = argument("first").or_else(|| argument("last"));
            let size = size.as_ref().and_then(number);
            size.map_or(page::USUAL, |size| within(size, page::LARGEST))
        }
        "topLikers" => top_likers(field, document, variables),
        "nodes" => match argument("ids") {
            Some(Value::List(ids)) => ids.len().min(NODES_LARGEST),
            _ => 1,
        },
        "likesChanged" => match argument("activityIds") {
            Some(Value::List(ids)) => ids.len().min(NODES_LARGEST),
            _ => 1,
        },
        // The lists of the schema about itself, as long as they are by and large.
        "types" => 50,
        "fields" => 8,
        "directives" => 5,
        "args" | "inputFields" | "enumValues" | "possibleTypes" => 3,
        "interfaces" => 2,
        _ => 1,
    }
}

/// The number that one `topLikers` asks for.
pub fn top_likers(field: &Field, document: &ExecutableDocument, variables: &Variables) -> usize {
    let wanted = argument(field, "first", document, variables);
    let wanted = wanted.as_ref().and_then(number);
    within(wanted.unwrap_or(TOP_LIKERS_USUAL), TOP_LIKERS_LARGEST)
}

/// The value of an argument; None if it is not there or null.
fn argument(
    field: &Field,
    name: &str,
    document: &ExecutableDocument,
    variables: &Variables,
) -> Option<Value> {
    let value = field.get_argument(name)?.node.clone();
    let value = value.into_const_with(|name| variable(&name, document, variables).ok_or(()));
    value.ok().filter(|value| *value != Value::Null)
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
        .max_by_key(size)
}

fn size(value: &Value) -> Option<i64> {
    match value {
        Value::List(items) => i64::try_from(items.len()).ok(),
        value => number(value),
    }
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        _ => None,
    }
}

fn within(size: i64, largest: usize) -> usize {
    usize::try_from(size.max(0)).map_or(largest, |size| size.min(largest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_graphql::parser::parse_schema;
    use async_graphql::parser::types::{TypeKind, TypeSystemDefinition};

    /// A list whose size clients choose multiplies what is below it.
    #[test]
    fn every_field_with_a_size_is_known() {
        let schema = parse_schema(crate::graphql::sdl()).unwrap();
        let mut found = 0;
        for definition in schema.definitions {
            let TypeSystemDefinition::Type(definition) = definition else {
                continue;
            };
            let TypeKind::Object(object) = definition.node.kind else {
                continue;
            };
            for field in object.fields {
                let field = field.node;
                let arguments = field.arguments.iter();
                let mut names = arguments.map(|it| it.node.name.node.as_str());
                if names.any(|name| matches!(name, "first" | "last" | "ids" | "activityIds")) {
                    found += 1;
                    let ids = "ids: [1, 2, 3, 4, 5, 6, 7], activityIds: [1, 2, 3, 4, 5, 6, 7]";
                    let query = format!("{{ {}(first: 7, {ids}) }}", field.name);
                    let document = async_graphql::parser::parse_query(query).unwrap();
                    let operation = document.operations.iter().next().unwrap().1;
                    let item = &operation.node.selection_set.node.items[0].node;
                    let async_graphql::parser::types::Selection::Field(item) = item else {
                        panic!("not a field");
                    };
                    let items = items(&item.node, &document, &Variables::default());
                    assert_eq!(items, 7, "{}", field.name);
                }
            }
        }
        assert!(found >= 6);
    }
}
