//! `/graphql`: from a request over HTTP to its execution, and back.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_graphql::parser::types::OperationType;
use async_graphql::{Response as Executed, ServerError, Value};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures::future::BoxFuture;
use serde::Serialize;

use super::accept::{self, Format};
use super::auth::Refusal;
use super::error::Failure;
use super::observe::Note;
use super::request::{self, Asked};
use super::{Service, pages};
use crate::domain::Identity;
use crate::graphql::{Prepared, prepare};

/// Executes one request for whoever asks.
pub type Execute =
    Arc<dyn Fn(Option<Identity>, Prepared) -> BoxFuture<'static, Executed> + Send + Sync>;

/// Queries, and `GraphiQL` for a browser.
pub(super) async fn get(
    State(service): State<Arc<Service>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let format = accept::preferred(&headers);
    if format == Some(Format::Page) {
        return pages::graphiql(&headers);
    }
    let answer = async {
        let identity = identify(&service, &headers).await?;
        let request = request::from_query(&uri)?;
        execute(&service, identity, request, &[OperationType::Query]).await
    };
    respond(format, answer.await)
}

/// Queries and mutations.
pub(super) async fn post(
    State(service): State<Arc<Service>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let format = accept::preferred(&headers).filter(|format| *format != Format::Page);
    if format.is_none() {
        return respond(format, Err(Failure::not_acceptable()));
    }
    let allowed = [OperationType::Query, OperationType::Mutation];
    let answer = async {
        let identity = identify(&service, &headers).await?;
        let request = request::from_body(&headers, body, service.limits.max_body).await?;
        execute(&service, identity, request, &allowed).await
    };
    respond(format, answer.await)
}

/// Every other method.
pub(super) async fn other_method() -> Response {
    Failure::other_method().into_response()
}

async fn identify(service: &Service, headers: &HeaderMap) -> Result<Option<Identity>, Failure> {
    let identified = service.authenticator.identify(headers).await;
    identified.map_err(|refusal| match refusal {
        Refusal::BadToken(why) => {
            tracing::debug!(why, "bearer token refused");
            Failure::bad_token()
        }
        Refusal::NoKeys => Failure::no_keys(),
    })
}

async fn execute(
    service: &Service,
    identity: Option<Identity>,
    asked: Asked,
    allowed: &[OperationType],
) -> Result<(Executed, Option<String>), Failure> {
    let Asked {
        query,
        operation_name,
        variables,
    } = asked;
    let prepared = match prepare(query, operation_name, variables, &service.limits) {
        Ok(prepared) => prepared,
        Err(refused) => return Ok((refused.into_response(), None)),
    };
    match prepared.kind {
        kind if allowed.contains(&kind) => {}
        _ if allowed.contains(&OperationType::Mutation) => return Err(Failure::subscription()),
        _ => return Err(Failure::mutation_over_get()),
    }
    let name = prepared.name.clone();
    let executed = (service.execute)(identity, prepared).await;
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
        Ok((executed, operation)) => rendered(executed, operation, format),
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

fn rendered(executed: Executed, operation: Option<String>, format: Format) -> Response {
    let was_executed = was_executed(&executed);
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
