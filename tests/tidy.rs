//! Holds the layout true: who may know whom, how long a file may be, what a script says of itself.

#![expect(
    clippy::unwrap_used,
    reason = "a failed assertion is how a test speaks"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Each part and the parts it may name. Arrows go down only.
const MAY_KNOW: [(&str, &[&str]); 14] = [
    (
        "cli",
        &[
            "app",
            "http",
            "graphql",
            "likes",
            "cache",
            "store",
            "worker",
            "config",
            "domain",
            "shutdown",
            "telemetry",
        ],
    ),
    (
        "app",
        &[
            "http",
            "graphql",
            "rates",
            "likes",
            "cache",
            "store",
            "worker",
            "config",
            "domain",
            "shutdown",
            "telemetry",
        ],
    ),
    (
        "http",
        &["graphql", "config", "domain", "telemetry", "shutdown"],
    ),
    (
        "graphql",
        &["rates", "likes", "config", "domain", "telemetry"],
    ),
    ("rates", &["cache", "config", "domain", "telemetry"]),
    ("likes", &["cache", "store", "domain", "fault", "telemetry"]),
    (
        "worker",
        &["cache", "store", "domain", "fault", "telemetry"],
    ),
    ("cache", &["domain", "telemetry"]),
    ("store", &["domain", "fault", "telemetry"]),
    ("shutdown", &[]),
    ("telemetry", &["config"]),
    ("config", &[]),
    ("domain", &[]),
    ("fault", &[]),
];
/// Of a source file.
const MOST_LINES: usize = 350;
/// Of a script.
const MOST_LUA_LINES: usize = 60;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    }
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// The part of the program that a source file belongs to: the first name below `src`.
fn part(path: &Path) -> String {
    let below = path.strip_prefix(root().join("src")).unwrap();
    let first = below.components().next().unwrap().as_os_str();
    first.to_str().unwrap().trim_end_matches(".rs").to_owned()
}

/// The parts that a line of code names by `crate::`, also in a group like `crate::{app, likes}`.
fn named(line: &str) -> BTreeSet<String> {
    let code = line.split("//").next().unwrap_or_default();
    let mut parts = BTreeSet::new();
    for (at, text) in code.match_indices("crate::") {
        let rest = &code[at + text.len()..];
        let names = match rest.strip_prefix('{') {
            Some(group) => group
                .split('}')
                .next()
                .unwrap_or_default()
                .split(',')
                .collect(),
            None => vec![rest],
        };
        for name in names {
            let name: String = name
                .trim()
                .chars()
                .take_while(|it| it.is_alphanumeric() || *it == '_')
                .collect();
            parts.insert(name);
        }
    }
    parts
}

#[test]
fn arrows_between_parts_go_down_only() {
    let mut seen = BTreeSet::new();
    for path in files(&root().join("src"), "rs") {
        let part = part(&path);
        if part == "lib" || part == "main" {
            continue;
        }
        let (_, allowed) = MAY_KNOW
            .iter()
            .find(|(name, _)| *name == part)
            .unwrap_or_else(|| panic!("{} belongs to no known part", path.display()));
        for (number, line) in read(&path).lines().enumerate() {
            for name in named(line).into_iter().filter(|name| *name != part) {
                assert!(
                    allowed.contains(&name.as_str()),
                    "{}:{}: {part} must not know {name}",
                    path.display(),
                    number + 1
                );
            }
        }
        seen.insert(part);
    }
    assert_eq!(seen.len(), MAY_KNOW.len(), "a part of the table is gone");
}

#[test]
fn redis_and_sql_are_named_only_where_they_belong() {
    for path in files(&root().join("src"), "rs") {
        let part = part(&path);
        // The section of settings named `redis` is a module of its own there.
        if part == "config" {
            continue;
        }
        let text = read(&path);
        for (library, homes) in [
            ("redis::", ["cache", "cli"]),
            ("sqlx::", ["store", "store"]),
        ] {
            let used = text.lines().any(|line| {
                let code = line.split("//").next().unwrap_or_default();
                code.match_indices(library).any(|(at, _)| {
                    !code[..at].ends_with(|it: char| it.is_alphanumeric() || it == '_' || it == ':')
                })
            });
            let home = homes.contains(&part.as_str()) || part == "app" && library == "redis::";
            assert!(
                !used || home,
                "{}: {library} outside {homes:?}",
                path.display()
            );
        }
    }
}

#[test]
fn files_are_short_enough_to_be_read_in_one_go() {
    for folder in ["src", "tests"] {
        for path in files(&root().join(folder), "rs") {
            let lines = read(&path).lines().count();
            assert!(lines <= MOST_LINES, "{} has {lines} lines", path.display());
        }
    }
    let main = read(&root().join("src/main.rs")).lines().count();
    assert!(
        main < 40,
        "main only parses, runs and reports, but has {main} lines"
    );
}

#[test]
fn each_script_says_what_it_takes_and_answers() {
    let scripts = files(&root().join("src/cache/lua"), "lua");
    let used = read(&root().join("src/cache/scripts.rs"));
    for path in &scripts {
        let text = read(path);
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(text.lines().count() <= MOST_LUA_LINES, "{name} is too long");
        let header: Vec<_> = text
            .lines()
            .take_while(|line| line.starts_with("--"))
            .collect();
        for word in ["-- KEYS ", "-- ARGV ", "-- Answers "] {
            assert!(
                header.iter().any(|line| line.starts_with(word)),
                "{name} lacks {word:?}"
            );
        }
        assert!(
            text.contains("assert(") && text.contains("#KEYS") && text.contains("#ARGV"),
            "{name}"
        );
        assert!(used.contains(&format!("lua/{name}")), "{name} is not used");
    }
    assert_eq!(used.matches("include_str!").count(), scripts.len());
}

#[test]
fn databases_have_migrations_of_the_same_names() {
    let names = |database: &str| -> BTreeSet<String> {
        let found = files(&root().join("migrations").join(database), "sql");
        found
            .iter()
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect()
    };
    assert!(!names("sqlite").is_empty());
    assert_eq!(names("sqlite"), names("postgres"));
}

#[test]
fn each_dependency_says_why_it_is_there() {
    let manifest = read(&root().join("Cargo.toml"));
    let mut previous = "";
    let mut among_dependencies = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            among_dependencies = line.contains("dependencies]");
        } else if among_dependencies && line.contains(" = ") && line != "serde_json = \"1\"" {
            assert!(previous.starts_with('#'), "no reason above {line}");
        }
        previous = line;
    }
}

#[test]
fn each_mutant_still_fits_the_code_that_it_breaks() {
    let patches = files(&root().join("tests/faults/mutants"), "patch");
    assert!(!patches.is_empty());
    for patch in patches {
        let patch_text = read(&patch);
        let mut file = String::new();
        for part in patch_text.split("\n@@ ") {
            let lines = part.lines().skip(usize::from(!part.starts_with("diff ")));
            let before = lines.filter_map(|line| line.strip_prefix([' ', '-']));
            let before: Vec<_> = before.filter(|line| !line.starts_with("-- a/")).collect();
            assert!(
                file.contains(&before.join("\n")),
                "{} does not fit",
                patch.display()
            );
            if let Some((_, path)) = part.rsplit_once("\n+++ b/") {
                file = read(&root().join(path.trim()));
            }
        }
    }
}
