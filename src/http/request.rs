//! Reads what a client wants executed, from an address or a body.

use async_graphql::Variables;
use axum::body::{Body, to_bytes};
use axum::extract::Query;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, Uri};
use serde_json::{Map, Value};

use super::error::Failure;
use crate::graphql::{Asked, Gate};

/// From the query string, where `variables` and `extensions` are JSON in parameters of their own.
pub(super) fn from_query(uri: &Uri) -> Result<Asked, Failure> {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri)
        .map_err(|_| Failure::bad_input("The query string is malformed."))?;
    let mut fields = Map::new();
    for (name, text) in pairs {
        let value = match name.as_str() {
            "query" | "operationName" => Value::String(text),
            "variables" | "extensions" => serde_json::from_str(&text)
                .map_err(|error| Failure::bad_input(format!("{name} is not JSON: {error}.")))?,
            _ => continue,
        };
        if fields.insert(name.clone(), value).is_some() {
            return Err(Failure::bad_input(format!("{name} is given twice.")));
        }
    }
    from_fields(fields)
}

/// From a body of JSON. Types that need no preflight are refused: a form on another site could send
/// them with the visitor's network position.
pub(super) async fn from_body(
    headers: &HeaderMap,
    body: Body,
    gate: &Gate,
) -> Result<Asked, Failure> {
    let most = gate.limits().max_body;
    if !is_json(headers) || headers.contains_key(CONTENT_ENCODING) {
        return Err(Failure::unsupported_media_type());
    }
    let announced = headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok());
    let announced: Option<usize> = announced.and_then(|it| it.parse().ok());
    if announced.is_some_and(|bytes| bytes > most) {
        return Err(Failure::too_large(most));
    }
    let bytes = to_bytes(body, most)
        .await
        .map_err(|error| unreadable(&error, most))?;
    let read = || from_json(&bytes);
    gate.lane().run(bytes.len(), read).await
}

fn from_json(bytes: &[u8]) -> Result<Asked, Failure> {
    let value = serde_json::from_slice(bytes)
        .map_err(|error| Failure::bad_input(format!("The body is not JSON: {error}.")))?;
    match value {
        Value::Object(fields) => from_fields(fields),
        Value::Array(_) => Err(Failure::bad_input(
            "The body is a list. Send one operation a request; one document can hold many fields.",
        )),
        _ => Err(Failure::bad_input(
            "The body is not a JSON object with a query.",
        )),
    }
}

/// From the fields of a JSON object.
pub(super) fn from_fields(mut fields: Map<String, Value>) -> Result<Asked, Failure> {
    let hash = match fields.remove("extensions") {
        None | Some(Value::Null) => None,
        Some(Value::Object(extensions)) => hash(&extensions)?,
        Some(_) => return Err(Failure::bad_input("extensions is not an object.")),
    };
    let query = match fields.remove("query") {
        Some(Value::String(query)) if !query.trim().is_empty() => Some(query),
        None | Some(Value::Null | Value::String(_)) if hash.is_some() => None,
        Some(Value::String(_)) => return Err(Failure::bad_input("query is empty.")),
        None | Some(Value::Null) => return Err(Failure::bad_input("query is missing.")),
        Some(_) => return Err(Failure::bad_input("query is not a text.")),
    };
    let operation_name = match fields.remove("operationName") {
        None | Some(Value::Null) => None,
        // Some clients send an empty name for none.
        Some(Value::String(name)) => Some(name).filter(|name| !name.is_empty()),
        Some(_) => return Err(Failure::bad_input("operationName is not a text.")),
    };
    let variables = match fields.remove("variables") {
        None | Some(Value::Null) => Variables::default(),
        Some(Value::Object(variables)) => Variables::from_json(Value::Object(variables)),
        Some(_) => return Err(Failure::bad_input("variables is not an object.")),
    };
    Ok(Asked {
        query,
        operation_name,
        variables,
        hash,
    })
}

/// The hash of an automatic persisted query, as Apollo's clients send it.
fn hash(extensions: &Map<String, Value>) -> Result<Option<String>, Failure> {
    let Some(persisted) = extensions.get("persistedQuery") else {
        return Ok(None);
    };
    let hash = persisted.get("sha256Hash").and_then(Value::as_str);
    match (persisted.get("version").and_then(Value::as_u64), hash) {
        (Some(1), Some(hash)) if !hash.is_empty() => Ok(Some(hash.to_owned())),
        _ => Err(Failure::bad_input(
            "extensions.persistedQuery needs version 1 and a sha256Hash.",
        )),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return false;
    };
    let value = value.to_str().unwrap_or_default().to_ascii_lowercase();
    let mut parts = value.split(';').map(str::trim);
    let is_json = matches!(
        parts.next(),
        Some("application/json" | "application/graphql-response+json")
    );
    // JSON is UTF-8; another charset would be read wrongly.
    let mut charsets = parts.filter_map(|part| part.strip_prefix("charset="));
    is_json && charsets.all(|name| matches!(name.trim_matches('"'), "utf-8" | "utf8"))
}

fn unreadable(error: &axum::Error, most: usize) -> Failure {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        if error.is::<http_body_util::LengthLimitError>() {
            return Failure::too_large(most);
        }
        cause = error.source();
    }
    Failure::bad_input("The body ended early.")
}
