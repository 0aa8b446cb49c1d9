//! `/graphql`: from a request over HTTP to its execution, and back.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_graphql::parser::types::OperationType;
use async_graphql::{Response as Executed, ServerError, Value};
use axum::Json;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, VARY};
use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures::future::BoxFuture;
use serde::Serialize;

use super::accept::{self, Format};
use super::error::Failure;
use super::observe::Note;
use super::{Service, caller, pages, request};
use crate::domain::{Caller, Identity};
use crate::graphql::{Asked, Prepared};

/// Executes one request for whoever asks.
pub type Execute =
    Arc<dyn Fn(Option<Identity>, Prepared) -> BoxFuture<'static, Executed> + Send + Sync>;

/// Queries, and `GraphiQL` for a browser.
pub(super) async fn get(State(service): State<Arc<Service>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let format = accept::preferred(&parts.headers);
    if format == Some(Format::Page) {
        return pages::graphiql(&parts.headers);
    }
    let answer = async {
        let caller = identify(&service, &parts.headers, &parts.extensions).await?;
        let asked = request::from_query(&parts.uri)?;
        execute(&service, caller, asked, &[OperationType::Query]).await
    };
    respond(format, answer.await)
}

/// Queries and mutations.
pub(super) async fn post(State(service): State<Arc<Service>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let format = accept::preferred(&parts.headers).filter(|format| *format != Format::Page);
    if format.is_none() {
        return respond(format, Err(Failure::not_acceptable()));
    }
    let allowed = [OperationType::Query, OperationType::Mutation];
    let answer = async {
        let caller = identify(&service, &parts.headers, &parts.extensions).await?;
        let most = service.gate.limits().max_body;
        let asked = request::from_body(&parts.headers, body, most).await?;
        execute(&service, caller, asked, &allowed).await
    };
    respond(format, answer.await)
}

/// Every other method.
pub(super) async fn other_method() -> Response {
    Failure::other_method().into_response()
}

async fn identify(
    service: &Service,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> Result<Caller, Failure> {
    let proxy = service.client_address_header.as_ref();
    let address = caller::address(headers, extensions, proxy);
    caller::identify(&service.authenticator, headers, address).await
}

async fn execute(
    service: &Service,
    caller: Caller,
    asked: Asked,
    allowed: &[OperationType],
) -> Result<(Executed, Option<String>), Failure> {
    let mut prepared = match service.gate.prepare(&caller, asked).await {
        Ok(prepared) => prepared,
        Err(refused) => return Ok((refused.into_response(), None)),
    };
    match prepared.kind {
        kind if allowed.contains(&kind) => {}
        _ if allowed.contains(&OperationType::Mutation) => return Err(Failure::subscription()),
        _ => return Err(Failure::mutation_over_get()),
    }
    let (name, keep) = (prepared.name.take(), prepared.keep.take());
    let executed = (service.execute)(caller.identity, prepared).await;
    if was_executed(&executed) {
        service.gate.keep(keep);
    }
    Ok((executed, name))
}

fn respond(
    format: Option<Format>,
    answer: Result<(Executed, Option<String>), Failure>,
) -> Response {
    let Some(format) = format else {
        return Failure::not_acceptable().into_response();
    };
    let mut response = match answer {
        Ok((executed, operation)) => rendered(&executed, operation, format),
        Err(failure) => failure.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static(format.content_type()),
    );
    // What one viewer sees is kept by no cache and shown to no other.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(VARY, HeaderValue::from_static("accept, authorization"));
    response
}

/// The body as the specification has it: without `data` where nothing was executed.
#[derive(Serialize)]
struct Rendered<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Value>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [ServerError],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extensions: &'a BTreeMap<String, Value>,
}

fn rendered(executed: &Executed, operation: Option<String>, format: Format) -> Response {
    let was_executed = was_executed(executed);
    let status = if was_executed {
        StatusCode::OK
    } else {
        refused(&executed.errors, format)
    };
    let body = Rendered {
        data: was_executed.then_some(&executed.data),
        errors: &executed.errors,
        extensions: &executed.extensions,
    };
    let code = executed.errors.first().and_then(code);
    let mut response = (status, executed.http_headers.clone(), Json(&body)).into_response();
    if status == StatusCode::TOO_MANY_REQUESTS {
        let seconds = executed.errors.first().map_or(1, retry_after_seconds);
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response.extensions_mut().insert(Note { operation, code });
    response
}

/// Errors of execution have the path of a field; the others were found before any field was resolved.
fn was_executed(executed: &Executed) -> bool {
    let errors = &executed.errors;
    executed.data != Value::Null || errors.is_empty() || errors.iter().any(|it| !it.path.is_empty())
}

/// The status of a request that GraphQL refused as a whole. Clients that only know `application/json` take
/// what is not 200 for the answer of a proxy, so they get 200 where the document is to blame.
fn refused(errors: &[ServerError], format: Format) -> StatusCode {
    match errors.first().and_then(code).as_deref() {
        Some("UNAUTHENTICATED") => StatusCode::UNAUTHORIZED,
        Some("FORBIDDEN") => StatusCode::FORBIDDEN,
        Some("RATE_LIMITED") => StatusCode::TOO_MANY_REQUESTS,
        Some("UNAVAILABLE") => StatusCode::SERVICE_UNAVAILABLE,
        Some("INTERNAL") => StatusCode::INTERNAL_SERVER_ERROR,
        // Apollo's clients then send the document, and take any other status for a failure.
        Some("PERSISTED_QUERY_NOT_FOUND" | "PERSISTED_QUERY_NOT_SUPPORTED") => StatusCode::OK,
        _ if format == Format::Json => StatusCode::OK,
        _ => StatusCode::BAD_REQUEST,
    }
}

fn code(error: &ServerError) -> Option<String> {
    match error.extensions.as_ref()?.get("code")? {
        Value::String(code) => Some(code.clone()),
        _ => None,
    }
}

fn retry_after_seconds(error: &ServerError) -> u64 {
    let extensions = error.extensions.as_ref();
    match extensions.and_then(|extensions| extensions.get("retryAfterMs")) {
        Some(Value::Number(millis)) => millis.as_u64().unwrap_or_default().div_ceil(1000),
        _ => 1,
    }
}
