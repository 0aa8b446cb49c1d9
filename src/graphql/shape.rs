//! The shape of a response, as the specification has it: fields in the order of the document, and null in the
//! place of what failed, or in the nearest place around it that may be null.
//!
//! async-graphql 7.1 and later leaves a failed field out, also one that must not be null, and orders fields by
//! which was ready first.

use std::collections::HashMap;
use std::sync::LazyLock;

use async_graphql::indexmap::IndexMap;
use async_graphql::parser::parse_schema;
use async_graphql::parser::types::{
    BaseType, ExecutableDocument, OperationType, Selection, SelectionSet, Type, TypeKind,
    TypeSystemDefinition,
};
use async_graphql::{Name, PathSegment, Response, Value};

use super::document;

/// The type of each field of each type.
static TYPES: LazyLock<HashMap<String, HashMap<String, Type>>> = LazyLock::new(types);

/// What a selection selects.
#[derive(Debug, Default)]
pub struct Shape {
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    key: Name,
    /// None for introspection, which is left as it is.
    ty: Option<&'static Type>,
    shape: Shape,
}

/// What lies below one place on the way to each failed field.
type Failed<'a> = Vec<&'a [PathSegment]>;

impl Shape {
    /// The shape of what an operation answers. Nothing if there is no such operation.
    pub fn of(document: &ExecutableDocument, operation: Option<&str>) -> Self {
        let mut shape = Self::default();
        if let Some(operation) = document::selected(document, operation) {
            let root = match operation.ty {
                OperationType::Query => "Query",
                OperationType::Mutation => "Mutation",
                OperationType::Subscription => "Subscription",
            };
            shape.add(document, root, &operation.selection_set.node);
        }
        shape
    }

    fn add(&mut self, document: &ExecutableDocument, parent: &str, set: &SelectionSet) {
        for selection in &set.items {
            let (condition, set) = match &selection.node {
                Selection::Field(field) => {
                    let field = &field.node;
                    let types = TYPES.get(parent);
                    let ty = types.and_then(|types| types.get(field.name.node.as_str()));
                    let part = self.part(&field.response_key().node, ty);
                    if let Some(ty) = ty {
                        let set = &field.selection_set.node;
                        part.shape.add(document, named(&ty.base), set);
                    }
                    continue;
                }
                Selection::InlineFragment(inline) => {
                    let condition = inline.node.type_condition.as_ref();
                    (condition, &inline.node.selection_set)
                }
                Selection::FragmentSpread(spread) => {
                    let name = &spread.node.fragment_name.node;
                    let Some(fragment) = document.fragments.get(name) else {
                        continue;
                    };
                    let condition = Some(&fragment.node.type_condition);
                    (condition, &fragment.node.selection_set)
                }
            };
            let on = condition.map_or(parent, |condition| condition.node.on.node.as_str());
            self.add(document, on, &set.node);
        }
    }

    /// The part of a key, shared by all fields that answer under it.
    fn part(&mut self, key: &Name, ty: Option<&'static Type>) -> &mut Part {
        let at = self.parts.iter().position(|part| part.key == *key);
        let at = at.unwrap_or_else(|| {
            self.parts.push(Part {
                key: key.clone(),
                ty,
                shape: Self::default(),
            });
            self.parts.len() - 1
        });
        &mut self.parts[at]
    }

    /// Brings a response into this shape.
    pub fn fit(&self, response: &mut Response) {
        let paths = response.errors.iter().map(|error| error.path.as_slice());
        let failed: Failed = paths.filter(|path| !path.is_empty()).collect();
        let was_refused = !response.errors.is_empty() && failed.is_empty();
        if !was_refused && !self.fit_fields(&mut response.data, &failed) {
            response.data = Value::Null;
        }
    }

    /// Whether an object may stay: false if a field that must not be null is.
    fn fit_fields(&self, object: &mut Value, failed: &Failed) -> bool {
        if *object == Value::Null && !failed.is_empty() {
            // All of its fields failed; some of them may be null.
            *object = Value::Object(IndexMap::new());
        }
        let Value::Object(fields) = object else {
            return true;
        };
        let mut place = 0;
        let mut may_stay = true;
        for part in &self.parts {
            let below = below(failed, &PathSegment::Field(part.key.to_string()));
            match fields.get_index_of(&part.key) {
                Some(index) => fields.move_index(index, place),
                None if below.is_empty() => continue,
                None => {
                    fields.shift_insert(place, part.key.clone(), Value::Null);
                }
            }
            if let Some(ty) = part.ty {
                may_stay &= fit_value(&mut fields[place], ty, &part.shape, &below);
            }
            place += 1;
        }
        may_stay
    }
}

/// Whether a value may stay where it is: false if it must not be null and is.
fn fit_value(value: &mut Value, ty: &Type, shape: &Shape, failed: &Failed) -> bool {
    let inside = failed.iter().any(|path| !path.is_empty());
    let may_stay = match (&mut *value, &ty.base) {
        (Value::List(items), BaseType::List(ty)) => {
            let items = items.iter_mut().enumerate();
            items.fold(true, |may_stay, (index, item)| {
                let below = below(failed, &PathSegment::Index(index));
                fit_value(item, ty, shape, &below) && may_stay
            })
        }
        (Value::Null, BaseType::Named(_)) if inside => shape.fit_fields(value, failed),
        (Value::Null, _) => false,
        (Value::Object(_), _) => shape.fit_fields(value, failed),
        _ => true,
    };
    if !may_stay {
        *value = Value::Null;
    }
    may_stay || ty.nullable
}

fn below<'a>(failed: &Failed<'a>, segment: &PathSegment) -> Failed<'a> {
    let paths = failed.iter().filter_map(|path| path.split_first());
    paths
        .filter(|(first, _)| *first == segment)
        .map(|(_, rest)| rest)
        .collect()
}

fn named(base: &BaseType) -> &str {
    match base {
        BaseType::Named(name) => name,
        BaseType::List(ty) => named(&ty.base),
    }
}

fn types() -> HashMap<String, HashMap<String, Type>> {
    // What the program exports is well-formed; a test parses it.
    let schema = parse_schema(super::sdl()).map_or_else(|_| Vec::new(), |it| it.definitions);
    let mut types = HashMap::new();
    for definition in schema {
        let TypeSystemDefinition::Type(definition) = definition else {
            continue;
        };
        let fields = match definition.node.kind {
            TypeKind::Object(object) => object.fields,
            TypeKind::Interface(interface) => interface.fields,
            _ => continue,
        };
        let fields = fields
            .into_iter()
            .map(|field| (field.node.name.node.to_string(), field.node.ty.node));
        types.insert(definition.node.name.node.to_string(), fields.collect());
    }
    types
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_graphql::parser::parse_query;
    use async_graphql::{ServerError, value};

    fn fitted(query: &str, data: Value, failed: &[&[&str]]) -> String {
        let mut response = Response::new(data);
        for path in failed {
            let path = path.iter().map(|segment| match segment.parse() {
                Ok(index) => PathSegment::Index(index),
                Err(_) => PathSegment::Field((*segment).to_owned()),
            });
            let error = ServerError::new("failed", None).with_path(path.collect());
            response.errors.push(error);
        }
        Shape::of(&parse_query(query).unwrap(), None).fit(&mut response);
        serde_json::to_string(&response.data).unwrap()
    }

    #[test]
    fn fields_come_in_the_order_of_the_document() {
        let query = "{ a: activity(id: 1) { ...F title author { name id } } viewer { id } }
            fragment F on Activity { __typename id }";
        let author = value!({ "id": "u", "name": "Ada" });
        let data = value!({
            "viewer": { "id": "v" },
            "a": { "author": author, "title": "T", "id": "i", "__typename": "Activity" },
        });
        let expected = r#"{"a":{"__typename":"Activity","id":"i","title":"T","author":{"name":"Ada","id":"u"}},"viewer":{"id":"v"}}"#;
        assert_eq!(fitted(query, data, &[]), expected);
    }

    #[test]
    fn a_failed_field_that_may_be_null_is() {
        let query = "{ a: activity(id: 1) { id } viewer { id } }";
        let data = value!({ "viewer": null });
        let expected = r#"{"a":null,"viewer":null}"#;
        assert_eq!(fitted(query, data, &[&["a"]]), expected);
        assert_eq!(fitted(query, Value::Null, &[&["a"], &["viewer"]]), expected);
    }

    #[test]
    fn a_failed_field_that_must_not_be_null_takes_its_parent_along() {
        let query = "{ activity(id: 1) { id likeCount } }";
        let data = value!({ "activity": { "id": "i" } });
        let failed: &[&str] = &["activity", "likeCount"];
        assert_eq!(fitted(query, data, &[failed]), r#"{"activity":null}"#);
        let alone = "{ activity(id: 1) { likeCount } }";
        let data = value!({ "activity": null });
        assert_eq!(fitted(alone, data, &[failed]), r#"{"activity":null}"#);

        let query = "{ activities { nodes { id likeCount } } }";
        let data =
            value!({ "activities": { "nodes": [{ "id": "i" }, { "id": "j", "likeCount": 1 }] } });
        let failed: &[&str] = &["activities", "nodes", "0", "likeCount"];
        assert_eq!(fitted(query, data, &[failed]), "null");
    }

    #[test]
    fn an_item_that_may_be_null_is_and_its_neighbours_stay() {
        let query = "{ nodes(ids: []) { id ... on Activity { likeCount } } }";
        let data = value!({ "nodes": [{ "id": "i" }, { "id": "u" }, null] });
        let failed: &[&str] = &["nodes", "0", "likeCount"];
        let expected = r#"{"nodes":[null,{"id":"u"},null]}"#;
        assert_eq!(fitted(query, data, &[failed]), expected);
    }

    #[test]
    fn a_failed_mutation_leaves_no_data() {
        let query =
            "mutation { a: toggleLike(input: {}) { liked } b: toggleLike(input: {}) { liked } }";
        let data = value!({ "a": { "liked": true } });
        assert_eq!(fitted(query, data, &[&["b"]]), "null");
    }

    #[test]
    fn a_refused_document_and_introspection_are_left_alone() {
        let query = "{ __schema { types { name kind } } }";
        let data = value!({ "__schema": { "types": [{ "kind": "OBJECT", "name": "Query" }] } });
        let expected = serde_json::to_string(&data).unwrap();
        assert_eq!(fitted(query, data, &[]), expected);
        assert_eq!(fitted("{ viewer { id } }", Value::Null, &[&[]]), "null");
    }
}
