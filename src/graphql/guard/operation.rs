//! The operation of a document that is to be executed.

use async_graphql::parser::types::{ExecutableDocument, OperationDefinition};
use async_graphql::{Name, Value, Variables};

use crate::graphql::error::{Code, Error, Result};

/// The operation, its place in the document's order, and its name if it has one.
///
/// # Errors
/// There is none of this name, or several to choose from.
pub fn selected<'a>(
    document: &'a ExecutableDocument,
    wanted: Option<&str>,
) -> Result<(usize, Option<&'a str>, &'a OperationDefinition)> {
    let mut operations = document.operations.iter().enumerate();
    let operation = match wanted {
        Some(wanted) => operations.find(|(_, (name, _))| name.is_some_and(|name| name == wanted)),
        None => operations.next().filter(|_| operations.next().is_none()),
    };
    let text = match wanted {
        Some(_) => "The document has no operation of this operationName.",
        None => "The document has several operations: say which, by operationName.",
    };
    let found = operation.ok_or_else(|| Error::new(Code::BadUserInput, text))?;
    let (at, (name, operation)) = found;
    Ok((at, name.map(Name::as_str), &operation.node))
}

/// Sees that no variable is missing, before any part of a mutation is executed. Types are GraphQL's to judge.
///
/// # Errors
/// One is missing.
pub fn check_variables(operation: &OperationDefinition, variables: &Variables) -> Result<()> {
    for definition in &operation.variable_definitions {
        let variable = &definition.node;
        let name = &variable.name.node;
        let is_needed = !variable.var_type.node.nullable && variable.default_value.is_none();
        if is_needed && matches!(variables.get(name), None | Some(Value::Null)) {
            let text = format!("The variable ${name} is missing.");
            return Err(Error::bad_document(text, Some(definition.pos)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_graphql::parser::parse_query;

    #[test]
    fn the_operation_is_the_named_one_or_the_only_one() {
        let kind = |document: &ExecutableDocument, name: Option<&str>| {
            let operation = selected(document, name);
            operation.map(|(_, name, it)| (name.map(str::to_owned), it.ty.to_string()))
        };
        let mutation = (Some("B".to_owned()), "mutation".to_owned());
        let two = parse_query("query A { a } mutation B { b }").unwrap();
        assert_eq!(kind(&two, Some("B")).unwrap(), mutation);
        assert!(kind(&two, None).is_err() && kind(&two, Some("C")).is_err());
        let one = parse_query("mutation B { b }").unwrap();
        assert_eq!(kind(&one, None).unwrap(), mutation);
        let nameless = parse_query("{ a }").unwrap();
        assert_eq!(kind(&nameless, None).unwrap(), (None, "query".to_owned()));
        assert!(kind(&nameless, Some("A")).is_err());
    }
}
