use std::fmt::Write as _;

use async_graphql::value;
use clap::Parser;

use super::*;

#[derive(Parser)]
struct Settings {
    #[command(flatten)]
    limits: Limits,
}

fn limits(arguments: &[&str]) -> Limits {
    let all = ["likewise"].into_iter().chain(arguments.iter().copied());
    Settings::parse_from(all).limits
}

fn prepared(text: &str) -> Result<Prepared> {
    prepared_as(text, None)
}

fn prepared_as(text: &str, operation: Option<&str>) -> Result<Prepared> {
    let variables = Variables::from_value(value!({ "n": 100 }));
    let operation = operation.map(ToOwned::to_owned);
    prepare(text.to_owned(), operation, variables, &limits(&[]))
}

/// What clients read.
fn message(error: &Error) -> String {
    async_graphql::Error::from(error.clone()).message
}

fn cost(text: &str) -> Cost {
    prepared(text).unwrap().cost
}

/// The limit that refuses a document.
fn refused(text: &str) -> Option<&'static str> {
    prepared(text).err().and_then(|error| error.limit())
}

/// Fragments that spread the next one twice.
fn bomb(fragments: usize) -> String {
    let mut text = "{ viewer { ...F0 } }".to_owned();
    for i in 0..fragments {
        let next = i + 1;
        write!(text, "fragment F{i} on User{{...F{next} ...F{next}}}").unwrap();
    }
    write!(text, "fragment F{fragments} on User{{id}}").unwrap();
    text
}

#[test]
fn fields_count_wherever_their_fragment_is_spread() {
    assert!(prepared(&bomb(10)).is_ok());
    assert_eq!(refused(&bomb(11)), Some("fields"));
    // 2^64 does not overflow.
    assert_eq!(refused(&bomb(25)), Some("fields"));
    let typenames = "__typename ".repeat(1_990);
    assert_eq!(refused(&format!("{{ viewer {{ {typenames} }} }}")), None);
    let unused = bomb(12).replace("{ viewer { ...F0 } }", "{ viewer { id } }");
    assert_eq!(refused(&unused), Some("fields"));
}

#[test]
fn a_chain_of_fragments_ends_before_the_stack_does() {
    let mut text = "{ viewer { ...F0 } }".to_owned();
    for i in 0..200 {
        write!(text, "fragment F{i} on User{{...F{}}}", i + 1).unwrap();
    }
    assert_eq!(refused(&text), Some("depth"));
    let inline = format!("{{{}id{}}}", "...{".repeat(40), "}".repeat(40));
    assert_eq!(refused(&inline), Some("depth"));
}

#[test]
fn fragments_that_contain_themselves_are_refused() {
    for text in [
        "{ viewer { ...F } } fragment F on User { ...F }",
        "{ viewer { ...F } } fragment F on User { id ...G } fragment G on User { ... { ...F } }",
        "{ viewer { id } } fragment F on User { ...G } fragment G on User { ...F }",
    ] {
        assert_eq!(refused(text), Some("cycle"), "{text}");
    }
    // The same fragment twice is none.
    let text = "{ viewer { ...F ...G } } fragment F on User { ...G } fragment G on User { id }";
    assert_eq!(refused(text), None);
}

#[test]
fn each_limit_is_named() {
    let aliases: String = (0..31).map(|i| format!("a{i}: id ")).collect();
    let includes = "@include(if: true) ".repeat(51);
    let roots: String = "viewer { id } ".repeat(21);
    let tap = "toggleLike(input: { activityId: 1 }) { liked } ";
    let page = "activities(first: 100) { nodes { likers(first: 100) { nodes { id name } } } }";
    for (text, limit) in [
        (" ".repeat(40_000), "document"),
        (format!("{{ {} }}", "id ".repeat(2_000)), "tokens"),
        (format!("{{ a(b: {} }}", "[".repeat(60)), "nesting"),
        (format!("{{ viewer {{ {aliases} }} }}"), "aliases"),
        (format!("{{ viewer {{ id {includes} }} }}"), "directives"),
        (format!("{{ {roots} }}"), "root_fields"),
        (format!("mutation {{ {} }}", tap.repeat(6)), "mutations"),
        (format!("{{ {page} }}"), "cost"),
        (
            format!("{}id{}", "{ a ".repeat(13), "}".repeat(13)),
            "depth",
        ),
    ] {
        assert_eq!(refused(&text), Some(limit), "{text:.60}");
    }
    assert_eq!(refused(&format!("mutation {{ {} }}", tap.repeat(5))), None);
    let deep = format!("{}id{}", "{ a ".repeat(11), "}".repeat(11));
    assert_eq!(refused(&deep), None);
}

#[test]
fn limits_can_be_set() {
    let text = || "{ viewer { a: id } }".to_owned();
    let with = |arguments: &[&str]| {
        let prepared = prepare(text(), None, Variables::default(), &limits(arguments));
        prepared.err().and_then(|error| error.limit())
    };
    assert_eq!(with(&[]), None);
    assert_eq!(with(&["--max-document", "10"]), Some("document"));
    assert_eq!(with(&["--max-tokens", "3"]), Some("tokens"));
    assert_eq!(with(&["--max-fields", "1"]), Some("fields"));
    assert_eq!(with(&["--max-depth", "1"]), Some("depth"));
    assert_eq!(with(&["--max-cost", "51"]), Some("cost"));
}

#[test]
fn cost_is_multiplied_by_the_sizes_of_pages() {
    let nodes = |size: &str| {
        cost(&format!(
            "{{ activities{size} {{ nodes {{ id title }} }} }}"
        ))
    };
    // The root's look-up, the page, and three values for each item.
    assert_eq!(nodes("").reads, 50 + 1 + 20 * 3);
    assert_eq!(nodes("(first: 100)").reads, 50 + 1 + 100 * 3);
    assert_eq!(nodes("(last: 7)").reads, 50 + 1 + 7 * 3);
    assert_eq!(
        nodes("(first: 2000000000)").reads,
        nodes("(first: 100)").reads
    );
    let variable = "query($n: Int) { activities(first: $n) { nodes { id title } } }";
    assert_eq!(cost(variable).reads, nodes("(first: 100)").reads);
    let ids = "{ nodes(ids: [1, 2, 3]) { id } }";
    assert_eq!(cost(ids).reads, 50 + 1 + 3);
    let likers = "{ activity(id: 1) { topLikers(first: 9) { id name } } }";
    assert_eq!(cost(likers).reads, 50 + 1 + 1 + 9 * 2);
}

#[test]
fn changes_are_counted_one_by_one() {
    let two = "mutation { a: toggleLike(input: 1) { liked } ...F } fragment F on Mutation {
        b: toggleLike(input: 1) { liked } }";
    assert_eq!(cost(two).changes, 2);
    assert_eq!(cost("{ viewer { id } }").changes, 0);
}

#[test]
fn only_the_executed_operation_is_paid_for() {
    let text = "query A { viewer { id } } mutation B { toggleLike(input: 1) { liked } }";
    let name = Some("A".to_owned());
    let prepared = prepare(text.to_owned(), name, Variables::default(), &limits(&[])).unwrap();
    assert_eq!((prepared.cost.changes, prepared.cost.reads), (0, 52));
}

#[test]
fn a_syntax_error_is_explained_without_quoting_the_document() {
    let error = prepared("{ activity(id: }").unwrap_err();
    let response = error.into_response();
    let error = &response.errors[0];
    let begin = "The query cannot be read: expected ";
    assert!(error.message.starts_with(begin), "{}", error.message);
    assert!(!error.message.contains("activity"));
    assert_eq!(error.locations.len(), 1);
}

#[test]
fn fragments_that_no_operation_uses_are_refused_before_validation() {
    for (text, first) in [
        ("{ viewer { id } } fragment A on User { id }", Some("A")),
        ("{ viewer { ...A } } fragment A on User { id }", None),
        // Used by each other does not count, nor does the order in which they stand.
        (
            "fragment B on User { ...A } { viewer { id } } fragment A on User { id }",
            Some("B"),
        ),
        (
            "{ viewer { ...B } } fragment A on User { id } fragment B on User { ...A }",
            None,
        ),
    ] {
        let error = prepared(text).err().map(|error| message(&error));
        let expected = first.map(|name| format!("The fragment {name} is never used."));
        assert_eq!(error, expected, "{text}");
    }
    let other = "query A { viewer { ...F } } query B { __typename } fragment F on User { id }";
    assert!(prepared_as(other, Some("B")).is_ok());
    let long = format!(
        "{{ __typename }} fragment {} on User {{ id }}",
        "F".repeat(9_000)
    );
    let error = message(&prepared(&long).unwrap_err());
    assert!(error.len() < 200, "{error}");
}
