//! Reads a GraphQL document, and refuses one that costs more to read than any honest one: a few hundred
//! brackets within brackets overflow the parser's stack, which ends the process. What it costs to
//! execute is GraphQL's to judge.

use async_graphql::parser::types::{ExecutableDocument, OperationDefinition};
use async_graphql::parser::{Error, parse_query};
use async_graphql::{Name, ServerError, Value, Variables};

/// Brackets within brackets. `GraphiQL`'s own introspection query has 15.
const DEEPEST: usize = 50;
/// Words and signs of a document. `GraphiQL`'s introspection query has 300.
const MOST_TOKENS: usize = 5_000;
/// What of the parser's explanation is passed on; it quotes the document.
const EXPLANATION_CHARS: usize = 200;

/// Reads a document.
pub(super) fn parse(query: &str) -> Result<ExecutableDocument, ServerError> {
    measure(query).map_err(|message| ServerError::new(message, None))?;
    parse_query(query).map_err(|error| syntax(&error))
}

/// The operation that is to be executed, and its name if it has one.
pub(super) fn selected<'a>(
    document: &'a ExecutableDocument,
    wanted: Option<&str>,
) -> Result<(Option<&'a str>, &'a OperationDefinition), ServerError> {
    let mut operations = document.operations.iter();
    let operation = match wanted {
        Some(wanted) => operations.find(|(name, _)| name.is_some_and(|name| name == wanted)),
        None => operations.next().filter(|_| operations.next().is_none()),
    };
    let message = match wanted {
        Some(_) => "The document has no operation of this operationName.",
        None => "The document has several operations: say which, by operationName.",
    };
    let (name, operation) = operation.ok_or_else(|| ServerError::new(message, None))?;
    Ok((name.map(Name::as_str), &operation.node))
}

/// Sees that no variable is missing, before any part of a mutation is executed. Types are GraphQL's to judge.
pub(super) fn check_variables(
    operation: &OperationDefinition,
    variables: &Variables,
) -> Result<(), ServerError> {
    for definition in &operation.variable_definitions {
        let variable = &definition.node;
        let name = &variable.name.node;
        let is_needed = !variable.var_type.node.nullable && variable.default_value.is_none();
        if is_needed && matches!(variables.get(name), None | Some(Value::Null)) {
            let message = format!("The variable ${name} is missing.");
            return Err(ServerError::new(message, Some(definition.pos)));
        }
    }
    Ok(())
}

/// Counts tokens and nesting without parsing; texts and comments count for nothing.
fn measure(query: &str) -> Result<(), &'static str> {
    let bytes = query.as_bytes();
    let (mut at, mut depth, mut tokens) = (0, 0_usize, 0);
    while let Some(&byte) = bytes.get(at) {
        let length = match byte {
            b'#' => comment(&bytes[at..]),
            b'"' => text(&bytes[at..]),
            b'_' | b'-' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => word(&bytes[at..]),
            _ => 1,
        };
        match byte {
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        tokens += usize::from(!matches!(byte, b'#' | b',') && !byte.is_ascii_whitespace());
        at += length;
        if depth > DEEPEST {
            return Err("The document is nested too deeply.");
        }
        if tokens > MOST_TOKENS {
            return Err("The document is too long.");
        }
    }
    Ok(())
}

fn comment(bytes: &[u8]) -> usize {
    let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
    end.unwrap_or(bytes.len())
}

fn word(bytes: &[u8]) -> usize {
    let in_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let end = bytes.iter().position(|byte| !in_word(byte));
    end.unwrap_or(bytes.len())
}

/// The length of a text with its quotes. One that does not end reaches to the end of its line, or, with
/// three quotes, of the document; the parser refuses it.
fn text(bytes: &[u8]) -> usize {
    let is_block = bytes.starts_with(br#"""""#);
    let mut at = if is_block { 3 } else { 1 };
    while let Some(&byte) = bytes.get(at) {
        at += match byte {
            b'\\' if !is_block => 2,
            b'\\' if bytes[at..].starts_with(br#"\""""#) => 4,
            b'"' if !is_block => return at + 1,
            b'"' if bytes[at..].starts_with(br#"""""#) => return at + 3,
            b'\n' | b'\r' if !is_block => return at,
            _ => 1,
        };
    }
    bytes.len()
}

/// The parser's explanation without the document that it quotes.
fn syntax(error: &Error) -> ServerError {
    let text = error.to_string();
    let reason = text.lines().find_map(|line| line.trim().strip_prefix("= "));
    let reason = reason.unwrap_or(text.lines().next().unwrap_or_default());
    let reason: String = reason.chars().take(EXPLANATION_CHARS).collect();
    let position = error.positions().next();
    ServerError::new(format!("The query cannot be read: {reason}."), position)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(query: &str) -> String {
        parse(query).map(|_| ()).unwrap_err().message
    }

    #[test]
    fn brackets_do_not_overflow_the_stack() {
        for (open, close) in [("[", "]"), ("{a:", "}")] {
            let query = format!(
                "{{a(b:{}1{})}}",
                open.repeat(100_000),
                close.repeat(100_000)
            );
            assert_eq!(refusal(&query), "The document is nested too deeply.");
        }
        let sets = format!("{}a{}", "{a".repeat(60), "}".repeat(60));
        assert_eq!(refusal(&sets), "The document is nested too deeply.");
        let at_the_limit = format!("{{a(b:{}1{})}}", "[".repeat(48), "]".repeat(48));
        assert!(parse(&at_the_limit).is_ok());
    }

    #[test]
    fn brackets_in_texts_and_comments_do_not_count() {
        let many = "[".repeat(100);
        for query in [
            format!("{{a(b:\"{many}\\\"{many}\")}}"),
            format!("{{a(b:\"\"\"{many}\\\"\"\"{many}\n{many}\"\"\")}}"),
            format!("{{a #{many}\n}}"),
        ] {
            assert!(parse(&query).is_ok(), "{query}");
        }
        // But nothing hides behind a text that does not end.
        let query = format!("{{a(b:\"\n{many})}}");
        assert_eq!(refusal(&query), "The document is nested too deeply.");
    }

    #[test]
    fn long_documents_are_refused_before_they_are_parsed() {
        let query = format!("{{{}}}", "a ".repeat(100_000));
        assert_eq!(refusal(&query), "The document is too long.");
    }

    #[test]
    fn a_syntax_error_is_explained_without_quoting_the_document() {
        let error = parse("{ activity(id: }").map(|_| ()).unwrap_err();
        assert!(
            error
                .message
                .starts_with("The query cannot be read: expected ")
        );
        assert!(!error.message.contains("activity"));
        assert_eq!(error.locations.len(), 1);
        assert!(refusal("fragment a on B { c }").contains("does not contain an operation"));
    }

    #[test]
    fn the_operation_is_the_named_one_or_the_only_one() {
        let kind = |document: &ExecutableDocument, name: Option<&str>| {
            let operation = selected(document, name);
            operation.map(|(name, operation)| (name.map(str::to_owned), operation.ty.to_string()))
        };
        let mutation = (Some("B".to_owned()), "mutation".to_owned());
        let two = parse("query A { a } mutation B { b }").unwrap();
        assert_eq!(kind(&two, Some("B")).unwrap(), mutation);
        assert!(kind(&two, None).is_err() && kind(&two, Some("C")).is_err());
        let one = parse("mutation B { b }").unwrap();
        assert_eq!(kind(&one, None).unwrap(), mutation);
        let nameless = parse("{ a }").unwrap();
        assert_eq!(kind(&nameless, None).unwrap(), (None, "query".to_owned()));
        assert!(kind(&nameless, Some("A")).is_err());
    }
}
