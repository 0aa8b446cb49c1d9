//! Pages for people: `GraphiQL`, and the feed of `dev`. All files are in the binary.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rust_embed::{EmbeddedFile, RustEmbed};
use serde::Serialize;

use super::Service;
use super::error::Failure;

/// Everything only from files of ours, and nothing from elsewhere but pictures of users.
const FEED: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);
/// Editors set styles in the page, and bring pictures and fonts as text.
const GRAPHIQL: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' https: data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'",
);
/// Kept by the browser, and asked for again each time: a new build shows at once, an old one costs 304.
const REVALIDATE: &str = "no-cache";
/// The folders that have files of pages, and nothing else.
const FOLDERS: [&str; 3] = ["feed/", "graphiql/", "vendor/"];

/// `vendor/` is filled by `make graphiql` and may be empty.
#[derive(RustEmbed)]
#[folder = "web/"]
#[allow_missing = true]
struct Web;

/// A user whom the feed page can act as.
#[derive(Clone, Serialize)]
pub struct DemoUser {
    /// The name to show.
    pub name: String,
    /// A token that names this user.
    pub token: String,
}

/// `GraphiQL`, or what to run to get it.
pub(super) fn graphiql(headers: &HeaderMap) -> Response {
    let is_complete = Web::get("vendor/graphiql.min.js").is_some();
    let name = if is_complete {
        "graphiql/index.html"
    } else {
        "graphiql/missing.html"
    };
    let mut response = page(name, GRAPHIQL, headers);
    // The same address answers others with JSON.
    response
        .headers_mut()
        .insert(VARY, HeaderValue::from_static("accept"));
    response
}

/// The feed page of `dev`.
pub(super) async fn feed(headers: HeaderMap) -> Response {
    page("feed/index.html", FEED, &headers)
}

/// The users of `dev`.
pub(super) async fn demo_users(State(service): State<Arc<Service>>) -> Response {
    let users = service.demo.as_deref().unwrap_or_default();
    ([(CACHE_CONTROL, "no-store")], Json(users)).into_response()
}

/// A file that a page loads.
pub(super) async fn asset(Path(path): Path<String>, headers: HeaderMap) -> Response {
    let is_ours = FOLDERS.iter().any(|folder| path.starts_with(folder)) && !path.contains("..");
    match Web::get(&path).filter(|_| is_ours) {
        Some(found) => file(&found, &headers),
        None => Failure::not_found().into_response(),
    }
}

fn page(name: &str, policy: HeaderValue, headers: &HeaderMap) -> Response {
    let Some(found) = Web::get(name) else {
        return Failure::not_found().into_response();
    };
    let mut response = file(&found, headers);
    response
        .headers_mut()
        .insert(CONTENT_SECURITY_POLICY, policy);
    response
}

fn file(file: &EmbeddedFile, headers: &HeaderMap) -> Response {
    let etag = format!(
        "\"{}\"",
        URL_SAFE_NO_PAD.encode(file.metadata.sha256_hash())
    );
    let caching = [(CACHE_CONTROL, REVALIDATE), (ETAG, &etag)];
    if is_known(&etag, headers) {
        return (StatusCode::NOT_MODIFIED, caching).into_response();
    }
    let mut mime = file.metadata.mimetype().to_owned();
    if mime.starts_with("text/") {
        mime += "; charset=utf-8";
    }
    (caching, [(CONTENT_TYPE, mime)], file.data.to_vec()).into_response()
}

/// Whether the browser has this version already. A proxy that compresses makes its tag a weak one.
fn is_known(etag: &str, headers: &HeaderMap) -> bool {
    let known = headers.get(IF_NONE_MATCH);
    let known = known.and_then(|value| value.to_str().ok());
    let mut tags = known.unwrap_or_default().split(',').map(str::trim);
    tags.any(|tag| tag.trim_start_matches("W/") == etag)
}
