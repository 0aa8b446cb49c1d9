//! The root of a subscription: exactly one field (GraphQL specification, section 5.2.3.1). async-graphql takes any
//! number and overlooks those that come by way of a fragment, so fragments at the root are spread here.

use std::collections::HashMap;

use async_graphql::parser::types::{
    Directive, DocumentOperations, ExecutableDocument, FragmentDefinition, OperationType,
    Selection, SelectionSet,
};
use async_graphql::{Name, Positioned};

use super::error::{Code, Error, Result};

type Fragments = HashMap<Name, Positioned<FragmentDefinition>>;

/// Spreads the fragments at the roots of subscriptions.
///
/// # Errors
/// A root with another number of fields than one, or with a condition, which might leave none.
pub fn spread(document: &mut ExecutableDocument) -> Result<()> {
    let fragments = document.fragments.clone();
    let mut spread = Vec::new();
    let operations: Vec<_> = match &mut document.operations {
        DocumentOperations::Single(operation) => vec![operation],
        DocumentOperations::Multiple(operations) => operations.values_mut().collect(),
    };
    for operation in operations {
        let operation = &mut operation.node;
        if operation.ty != OperationType::Subscription {
            continue;
        }
        let set = &mut operation.selection_set.node;
        let mut fields = Vec::new();
        collect(set, &fragments, &mut spread, &mut fields)?;
        if fields.len() != 1 {
            let text = "A subscription has exactly one field at its root.";
            return Err(Error::new(Code::BadUserInput, text));
        }
        set.items = fields;
    }
    // Nothing else can use a fragment of this type, and validation refuses one that nothing uses.
    for name in spread {
        document.fragments.remove(&name);
    }
    Ok(())
}

fn collect(
    set: &SelectionSet,
    fragments: &Fragments,
    spread: &mut Vec<Name>,
    fields: &mut Vec<Positioned<Selection>>,
) -> Result<()> {
    for selection in &set.items {
        match &selection.node {
            Selection::Field(field) => {
                unconditional(&field.node.directives)?;
                fields.push(selection.clone());
            }
            Selection::InlineFragment(inline) => {
                unconditional(&inline.node.directives)?;
                collect(&inline.node.selection_set.node, fragments, spread, fields)?;
            }
            Selection::FragmentSpread(it) => {
                unconditional(&it.node.directives)?;
                let name = &it.node.fragment_name.node;
                // One that is met twice adds the same field twice; cycles have been refused before.
                if let Some(fragment) = fragments.get(name) {
                    spread.push(name.clone());
                    collect(&fragment.node.selection_set.node, fragments, spread, fields)?;
                }
            }
        }
    }
    Ok(())
}

fn unconditional(directives: &[Positioned<Directive>]) -> Result<()> {
    let names = directives.iter().map(|it| it.node.name.node.as_str());
    if names
        .into_iter()
        .any(|name| matches!(name, "skip" | "include"))
    {
        let text = "The root of a subscription cannot be skipped or included.";
        return Err(Error::new(Code::BadUserInput, text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_graphql::parser::parse_query;

    fn roots(query: &str) -> Result<usize> {
        let mut document = parse_query(query).unwrap();
        spread(&mut document)?;
        let operations = document.operations.iter();
        let sets = operations.map(|(_, it)| it.node.selection_set.node.items.len());
        Ok(sets.sum::<usize>() + document.fragments.len())
    }

    #[test]
    fn fragments_at_the_root_are_spread() {
        assert_eq!(roots("subscription { a { b } }"), Ok(1));
        assert_eq!(
            roots("subscription { ... on Subscription { a { b } } }"),
            Ok(1)
        );
        let query = "subscription { ...F } fragment F on Subscription { ...G }
            fragment G on Subscription { a { ...H } } fragment H on A { b }";
        assert_eq!(roots(query), Ok(2));
    }

    #[test]
    fn a_root_has_exactly_one_field_for_certain() {
        for query in [
            "subscription { a b }",
            "subscription { a ...F } fragment F on Subscription { b }",
            "subscription($c: Boolean!) { a @skip(if: $c) }",
            "subscription($c: Boolean!) { ... @include(if: $c) { a } }",
            "subscription { ...F }",
        ] {
            assert!(roots(query).is_err(), "{query}");
        }
        // Other operations are left alone.
        assert_eq!(roots("query { a b @skip(if: true) }"), Ok(2));
    }
}
