//! Writes random requests: documents by the grammar, sometimes broken, in bodies that are sometimes broken too.

use std::fmt::Write as _;

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};

const FIELDS: [&str; 9] = [
    "a",
    "a",
    "b",
    "c",
    "activities",
    "__typename",
    "__schema",
    "types",
    "unknown",
];
const TYPES: [&str; 5] = ["Query", "Query", "Mutation", "__Schema", "Unknown"];
/// What texts are broken with.
const SPLINTERS: [&str; 22] = [
    "{", "}", "(", ")", "[", "]", "...", "\"", "\"\"\"", "#", "\\", "$", "@", ":", "!", ",",
    "\u{0}", "\u{feff}", "-", "1e9", "\n", "ä",
];
/// Fields of a document; enough to pass all limits sometimes.
const BUDGET: i32 = 400;

/// A body, and whether it is JSON around a document by the grammar.
pub fn body(random: &mut StdRng) -> (Vec<u8>, bool) {
    let mut text = document(random);
    let broken_text = random.random_ratio(1, 3);
    if broken_text {
        break_up(random, &mut text);
    }
    let mut fields = json!({ "query": text, "variables": variables(random, 4) });
    if random.random_ratio(1, 4) {
        fields["operationName"] = json!(name(random, "Q"));
    }
    if random.random_ratio(1, 10) {
        fields["extensions"] = value(random, 5);
    }
    let mut body = fields.to_string();
    let broken_body = random.random_ratio(1, 10);
    if broken_body {
        break_up(random, &mut body);
    }
    let mut bytes = body.into_bytes();
    if broken_body && random.random_ratio(1, 2) {
        let at = random.random_range(0..bytes.len());
        bytes[at] = random.random();
    }
    (bytes, !broken_text && !broken_body)
}

fn document(random: &mut StdRng) -> String {
    let mut text = String::new();
    let mut budget = random.random_range(1..BUDGET);
    for i in 0..random.random_range(1..4) {
        let kind = ["query", "mutation", "subscription", "query"]
            .choose(random)
            .unwrap();
        if i > 0 || random.random_ratio(2, 3) {
            write!(text, "{kind} Q{i}").unwrap();
            if random.random_ratio(1, 3) {
                text.push_str("($v0: Int = 5, $v1: [Int!]!, $v2: String)");
            }
            directives(random, &mut text);
        }
        set(random, &mut text, &mut budget, 0);
    }
    // Each spreads any other: chains, circles and bombs.
    for i in 0..random.random_range(0..12) {
        let on = TYPES.choose(random).unwrap();
        write!(text, " fragment F{i} on {on}").unwrap();
        set(random, &mut text, &mut budget, 0);
    }
    text
}

fn set(random: &mut StdRng, text: &mut String, budget: &mut i32, depth: u32) {
    text.push('{');
    loop {
        *budget -= 1;
        match random.random_range(0..8) {
            0 => {
                write!(text, "...{} ", name(random, "F")).unwrap();
                directives(random, text);
            }
            1 => {
                text.push_str("...");
                if random.random() {
                    write!(text, " on {}", TYPES.choose(random).unwrap()).unwrap();
                }
                directives(random, text);
                below(random, text, budget, depth);
            }
            _ => {
                if random.random_ratio(1, 8) {
                    write!(text, "{}: ", name(random, "x")).unwrap();
                }
                text.push_str(FIELDS.choose(random).unwrap());
                arguments(random, text);
                directives(random, text);
                if random.random_ratio(2, 3) {
                    below(random, text, budget, depth);
                }
                text.push(' ');
            }
        }
        if *budget <= 0 || random.random_ratio(1, 3) {
            break;
        }
    }
    text.push('}');
}

fn below(random: &mut StdRng, text: &mut String, budget: &mut i32, depth: u32) {
    if *budget > 0 && depth < 60 {
        set(random, text, budget, depth + 1);
    } else {
        text.push_str("{a}");
    }
}

fn arguments(random: &mut StdRng, text: &mut String) {
    if random.random_ratio(1, 3) {
        let argument = ["n", "first", "last", "text", "list", "input", "unknown"];
        write!(text, "({}: ", argument.choose(random).unwrap()).unwrap();
        literal(random, text, 4);
        text.push(')');
    }
}

fn directives(random: &mut StdRng, text: &mut String) {
    while random.random_ratio(1, 12) {
        let directive = [" @skip(if: ", " @include(if: ", " @unknown(a: "];
        text.push_str(directive.choose(random).unwrap());
        literal(random, text, 2);
        text.push_str(") ");
    }
}

fn literal(random: &mut StdRng, text: &mut String, depth: u32) {
    match random.random_range(0..10) {
        0 => text.push_str("null"),
        1 => text.push_str(["true", "false", "WORD"].choose(random).unwrap()),
        2 => write!(text, "{}", random.random::<i64>()).unwrap(),
        3 => write!(text, "{}", random.random_range(-3..200)).unwrap(),
        4 => text.push_str("\"te\\u0078t\\n\""),
        5 => text.push_str("\"\"\"block \\\"\"\" text\"\"\""),
        6 => write!(text, "${}", name(random, "v")).unwrap(),
        7 => write!(text, "{:e}", random.random::<f64>()).unwrap(),
        8 if depth > 0 => {
            text.push('[');
            for _ in 0..random.random_range(0..4) {
                literal(random, text, depth - 1);
                text.push(' ');
            }
            text.push(']');
        }
        _ if depth > 0 => {
            text.push_str("{n: ");
            literal(random, text, depth - 1);
            text.push_str(" nested: ");
            literal(random, text, depth - 1);
            text.push('}');
        }
        _ => text.push('1'),
    }
}

fn name(random: &mut StdRng, of: &str) -> String {
    format!("{of}{}", random.random_range(0..12))
}

fn variables(random: &mut StdRng, depth: u32) -> Value {
    let names = (0..random.random_range(0..5)).map(|i| format!("v{i}"));
    names.map(|name| (name, value(random, depth))).collect()
}

fn value(random: &mut StdRng, depth: u32) -> Value {
    match random.random_range(0..8) {
        0 => Value::Null,
        1 => json!(random.random::<bool>()),
        2 => json!(random.random::<i64>()),
        3 => json!(random.random::<f64>()),
        4 => json!("text\u{0}\u{1f600}"),
        5 if depth > 0 => (0..3).map(|_| value(random, depth - 1)).collect(),
        6 if depth > 0 => {
            json!({ "n": value(random, depth - 1), "nested": value(random, depth - 1) })
        }
        _ => json!(random.random_range(0..5)),
    }
}

/// Cuts, repeats and spoils pieces of a text.
fn break_up(random: &mut StdRng, text: &mut String) {
    for _ in 0..random.random_range(1..6) {
        let mut characters: Vec<char> = text.chars().collect();
        if characters.is_empty() {
            return;
        }
        let from = random.random_range(0..characters.len());
        let to = random.random_range(from..characters.len().min(from + 40));
        match random.random_range(0..4) {
            0 => drop(characters.drain(from..to)),
            1 => {
                let piece = characters[from..to].repeat(random.random_range(1..50));
                characters.splice(from..from, piece);
            }
            2 => characters.truncate(from),
            _ => {
                let splinter = SPLINTERS.choose(random).unwrap();
                let splinters = splinter.repeat(random.random_range(1..200));
                characters.splice(from..from, splinters.chars());
            }
        }
        *text = characters.into_iter().collect();
    }
}
