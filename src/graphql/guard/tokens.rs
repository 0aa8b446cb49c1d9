//! Counts tokens and nesting without parsing; texts and comments count for nothing. A few hundred
//! brackets within brackets overflow the parser's stack, which ends the process.

use super::limit::{Excess, Limit};

/// Brackets within brackets. `GraphiQL`'s own introspection query has 15, and the parser's stack holds
/// several times as many as this.
const DEEPEST: usize = 50;

/// Sees that a document is short and flat enough to be parsed.
///
/// # Errors
/// Says what there is too much of.
pub fn check(text: &str, most: usize) -> Result<(), Excess> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut tokens) = (0, 0_usize, 0);
    while let Some(&byte) = bytes.get(at) {
        let length = match byte {
            b'#' => comment(&bytes[at..]),
            b'"' => quoted(&bytes[at..]),
            b'_' | b'-' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => word(&bytes[at..]),
            b'.' if bytes[at..].starts_with(b"...") => 3,
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
            return Err(Excess::new(Limit::Nesting, DEEPEST));
        }
        if tokens > most {
            return Err(Excess::new(Limit::Tokens, most));
        }
    }
    Ok(())
}

fn comment(bytes: &[u8]) -> usize {
    let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
    end.unwrap_or(bytes.len())
}

fn word(bytes: &[u8]) -> usize {
    let in_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let end = bytes.iter().position(|byte| !in_word(byte));
    end.unwrap_or(bytes.len())
}

/// The length of a text with its quotes. One that does not end reaches to the end of its line, or, with
/// three quotes, of the document; the parser refuses it.
fn quoted(bytes: &[u8]) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(text: &str) -> Option<Limit> {
        check(text, 2_000).err().map(|excess| excess.limit)
    }

    #[test]
    fn brackets_do_not_overflow_the_stack() {
        for (open, close) in [("[", "]"), ("{a:", "}")] {
            let text = format!(
                "{{a(b:{}1{})}}",
                open.repeat(100_000),
                close.repeat(100_000)
            );
            assert_eq!(limit(&text), Some(Limit::Nesting));
        }
        let sets = format!("{}a{}", "{a".repeat(60), "}".repeat(60));
        assert_eq!(limit(&sets), Some(Limit::Nesting));
        let at_the_limit = format!("{{a(b:{}1{})}}", "[".repeat(48), "]".repeat(48));
        assert_eq!(limit(&at_the_limit), None);
    }

    #[test]
    fn brackets_in_texts_and_comments_do_not_count() {
        let many = "[".repeat(100);
        for text in [
            format!("{{a(b:\"{many}\\\"{many}\")}}"),
            format!("{{a(b:\"\"\"{many}\\\"\"\"{many}\n{many}\"\"\")}}"),
            format!("{{a #{many}\n}}"),
        ] {
            assert_eq!(limit(&text), None, "{text}");
        }
        // But nothing hides behind a text that does not end.
        let text = format!("{{a(b:\"\n{many})}}");
        assert_eq!(limit(&text), Some(Limit::Nesting));
    }

    #[test]
    fn tokens_are_counted_whatever_stands_between_them() {
        assert_eq!(check("{ a, b\t#c d e f\n}", 4), Ok(()));
        let text = format!("{{{}}}", "a ".repeat(100_000));
        assert_eq!(limit(&text), Some(Limit::Tokens));
        assert_eq!(check("a...b...c", 4), Err(Excess::new(Limit::Tokens, 4)));
        // One word, however long.
        assert_eq!(check(&"a".repeat(10_000), 1), Ok(()));
    }
}
