//! The exported schema: never stale, never less than the contract, every part of it described.

use std::collections::BTreeMap;

use async_graphql::Positioned;
use async_graphql::parser::parse_schema;
use async_graphql::parser::types::{
    FieldDefinition, InputValueDefinition, TypeDefinition, TypeKind, TypeSystemDefinition,
};

const CONTRACT: &str = include_str!("contract.graphql");
const EXPORTED: &str = include_str!("../schema.graphql");

#[test]
fn the_exported_schema_is_what_the_code_says() {
    assert!(
        EXPORTED == likewise::graphql::sdl(),
        "schema.graphql is stale: likewise schema > schema.graphql"
    );
}

#[test]
fn the_schema_has_all_of_the_contract() {
    let (contract, schema) = (facts(CONTRACT), facts(EXPORTED));
    assert!(contract.len() > 80, "the contract was not read");
    let differing = contract
        .iter()
        .filter(|(name, fact)| schema.get(*name) != Some(fact))
        .map(|(name, fact)| format!("{name}: {fact} is {:?}", schema.get(name)));
    let differing: Vec<_> = differing.collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn a_contract_that_the_schema_breaks_is_noticed() {
    let schema = facts(EXPORTED);
    for broken in [
        "type Query { activity(id: ID!): Activity! }",
        "type Query { activity(id: ID): Activity }",
        "type Query { activity(key: ID!): Activity }",
        "type Activity { topLikers(first: Int! = 6): [User!]! }",
        "type Activity { topLikers(first: Int!): [User!]! }",
        "type Activity { likes: Int }",
        "type User implements Named { id: ID! }",
        "enum ActivityOrder { OLDEST }",
        "input LikeInput { activityId: ID }",
        "input Activity { id: ID! }",
    ] {
        let mut facts = facts(broken).into_iter();
        let holds = facts.all(|(name, fact)| schema.get(&name) == Some(&fact));
        assert!(!holds, "{broken}");
    }
}

#[test]
fn everything_is_described() {
    let mut bare = Vec::new();
    for definition in types(EXPORTED) {
        let name = &definition.name.node;
        let mut expect = |what: String, description: &Option<Positioned<String>>| {
            if description.as_ref().is_none_or(|it| it.node.is_empty()) {
                bare.push(what);
            }
        };
        expect(name.to_string(), &definition.description);
        let fields = match definition.kind {
            TypeKind::Object(object) => object.fields,
            TypeKind::Interface(interface) => interface.fields,
            TypeKind::InputObject(input) => {
                for field in input.fields {
                    expect(
                        format!("{name}.{}", field.node.name),
                        &field.node.description,
                    );
                }
                continue;
            }
            TypeKind::Enum(it) => {
                for value in it.values {
                    expect(
                        format!("{name}.{}", value.node.value),
                        &value.node.description,
                    );
                }
                continue;
            }
            TypeKind::Scalar | TypeKind::Union(_) => continue,
        };
        for field in fields {
            let of_field = format!("{name}.{}", field.node.name);
            expect(of_field.clone(), &field.node.description);
            for argument in field.node.arguments {
                let of_argument = format!("{of_field}({})", argument.node.name);
                expect(of_argument, &argument.node.description);
            }
        }
    }
    assert!(bare.is_empty(), "without a description: {bare:?}");
}

fn types(schema: &str) -> impl Iterator<Item = TypeDefinition> {
    let schema = parse_schema(schema).unwrap_or_else(|error| panic!("{error}"));
    let definitions = schema.definitions.into_iter();
    definitions.filter_map(|definition| match definition {
        TypeSystemDefinition::Type(definition) => Some(definition.node),
        _ => None,
    })
}

/// What clients can rely on, by name: the kind of each type, the type of each field and argument, defaults,
/// interfaces, values of enums.
fn facts(schema: &str) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    for definition in types(schema) {
        let name = definition.name.node.to_string();
        let kind = match definition.kind {
            TypeKind::Scalar => "scalar",
            TypeKind::Object(object) => {
                for interface in object.implements {
                    facts.insert(format!("{name} implements {interface}"), String::new());
                }
                add_fields(&mut facts, &name, object.fields);
                "type"
            }
            TypeKind::Interface(interface) => {
                add_fields(&mut facts, &name, interface.fields);
                "interface"
            }
            TypeKind::Union(_) => "union",
            TypeKind::Enum(it) => {
                for value in it.values {
                    facts.insert(format!("{name}.{}", value.node.value), String::new());
                }
                "enum"
            }
            TypeKind::InputObject(input) => {
                for field in input.fields {
                    let (field, fact) = value_fact(field.node);
                    facts.insert(format!("{name}.{field}"), fact);
                }
                "input"
            }
        };
        facts.insert(name, kind.to_owned());
    }
    facts
}

fn add_fields(
    facts: &mut BTreeMap<String, String>,
    of: &str,
    fields: Vec<Positioned<FieldDefinition>>,
) {
    for field in fields {
        let field = field.node;
        let name = format!("{of}.{}", field.name);
        for argument in field.arguments {
            let (argument, fact) = value_fact(argument.node);
            facts.insert(format!("{name}({argument})"), fact);
        }
        facts.insert(name, field.ty.node.to_string());
    }
}

fn value_fact(value: InputValueDefinition) -> (String, String) {
    let default = value.default_value.map(|it| format!(" = {}", it.node));
    let fact = format!("{}{}", value.ty, default.unwrap_or_default());
    (value.name.node.to_string(), fact)
}
