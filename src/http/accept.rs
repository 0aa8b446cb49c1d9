//! Which kind of answer a client wants (RFC 9110, section 12.5.1).

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

const EVENTS: &str = "text/event-stream";

/// A kind of answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// `application/graphql-response+json`, the media type of GraphQL over HTTP.
    GraphqlJson,
    /// `application/json`, what everybody else expects.
    Json,
    /// A page for a person.
    Page,
    /// `text/event-stream`, results as they come.
    Events,
}

impl Format {
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::GraphqlJson => "application/graphql-response+json",
            Self::Json => "application/json",
            Self::Page => "text/html; charset=utf-8",
            Self::Events => EVENTS,
        }
    }
}

/// What the client likes best of what there is; None if it takes nothing of it. On a tie the first
/// of `Format` wins. Wildcards ask for plain JSON: whoever wants more names it.
pub(super) fn preferred(headers: &HeaderMap) -> Option<Format> {
    if !headers.contains_key(ACCEPT) {
        return Some(Format::Json);
    }
    let ranges: Vec<Range> = ranges(headers).collect();
    let named = |name: &str| ranges.iter().find(|range| range.name == name);
    let weight = |range: Option<&Range>| range.map_or(0, |range| range.weight);
    let json = named("application/json")
        .or_else(|| named("application/*"))
        .or_else(|| named("*/*"));
    let offers = [
        (
            Format::GraphqlJson,
            weight(named("application/graphql-response+json")),
        ),
        (Format::Json, weight(json)),
        (Format::Page, weight(named("text/html"))),
        (Format::Events, weight(named(EVENTS))),
    ];
    let best = offers.iter().map(|(_, weight)| *weight).max()?;
    let first = offers.into_iter().find(|(_, weight)| *weight == best);
    first.filter(|_| best > 0).map(|(format, _)| format)
}

/// Whether the client names event streams among what it takes, whatever it likes best: many send one list for all
/// operations.
pub(super) fn takes_events(headers: &HeaderMap) -> bool {
    ranges(headers).any(|range| range.name == EVENTS && range.weight > 0)
}

fn ranges(headers: &HeaderMap) -> impl Iterator<Item = Range> {
    let values = headers.get_all(ACCEPT).iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(range)
}

struct Range {
    name: String,
    /// In thousandths.
    weight: u16,
}

fn range(text: &str) -> Option<Range> {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().filter(|name| !name.is_empty())?;
    let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
    Some(Range {
        name: name.to_ascii_lowercase(),
        weight: weight.map_or(Some(1000), thousandths)?,
    })
}

fn thousandths(text: &str) -> Option<u16> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = fraction.bytes().all(|byte| byte.is_ascii_digit()) && fraction.len() <= 3;
    match whole {
        "0" if digits => format!("{fraction:0<3}").parse().ok(),
        "1" if digits => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_what_it_prefers() {
        let chrome = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";
        let graphql = "application/graphql-response+json";
        for (accept, wanted) in [
            (chrome, Some(Format::Page)),
            ("*/*", Some(Format::Json)),
            ("application/*;q=0.1", Some(Format::Json)),
            ("application/json", Some(Format::Json)),
            ("APPLICATION/JSON; charset=utf-8", Some(Format::Json)),
            (graphql, Some(Format::GraphqlJson)),
            (
                "application/json, application/graphql-response+json",
                Some(Format::GraphqlJson),
            ),
            (
                "application/graphql-response+json;q=0.5, application/json;q=0.9",
                Some(Format::Json),
            ),
            ("text/html, application/json", Some(Format::Json)),
            (
                "text/html;q=0.9, application/json;q=0.1",
                Some(Format::Page),
            ),
            ("application/json;q=0, */*", None),
            ("application/json;q=9", None),
            ("text/event-stream", Some(Format::Events)),
            ("application/json, text/event-stream", Some(Format::Json)),
            ("text/plain", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            assert_eq!(preferred(&headers), wanted, "{accept}");
        }
        assert_eq!(preferred(&HeaderMap::new()), Some(Format::Json));
    }
}
