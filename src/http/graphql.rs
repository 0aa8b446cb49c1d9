//! `/graphql`: from a request over HTTP to its execution, and back.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_graphql::parser::types::OperationType;
use async_graphql::{Response as Executed, ServerError, Value};
use axum::Json;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, VARY};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt};
use serde::Serialize;
use tokio::time::timeout;

use super::accept::{self, Format};
use super::auth::{Bearer, Refusal};
use super::error::Failure;
use super::observe::Note;
use super::{Service, caller, events, pages, request, ws};
use crate::domain::{Caller, Identity};
use crate::graphql::{self, Asked, Prepared};

/// Executes one query or mutation for whoever asks.
pub type Execute =
    Arc<dyn Fn(Option<Identity>, Prepared) -> BoxFuture<'static, Executed> + Send + Sync>;

/// Executes a subscription for whoever asks.
pub type Subscribe =
    Arc<dyn Fn(Option<Identity>, Prepared) -> BoxStream<'static, Executed> + Send + Sync>;

/// A request that is not executed.
pub(super) enum Refused {
    /// For what HTTP says of it.
    Here(Failure),
    /// For what it holds.
    ByGraphql(graphql::Error),
}

impl Refused {
    /// As GraphQL's clients read it.
    pub(super) fn into_executed(self) -> Executed {
        match self {
            Self::Here(failure) => Executed::from_errors(vec![failure.into_error()]),
            Self::ByGraphql(error) => error.into_response(),
        }
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Here(failure)
    }
}

/// Queries, subscriptions, and `GraphiQL` for a browser.
pub(super) async fn get(State(service): State<Arc<Service>>, request: Request) -> Response {
    if ws::is_wanted(request.headers()) {
        return ws::open(service, request).await;
    }
    let (parts, _) = request.into_parts();
    if accept::preferred(&parts.headers) == Some(Format::Page) {
        return pages::graphiql(&parts.headers);
    }
    let allowed = [OperationType::Query, OperationType::Subscription];
    let read = async { request::from_query(&parts.uri) };
    answer(&service, &parts, &allowed, read).await
}

/// Queries, mutations and subscriptions.
pub(super) async fn post(State(service): State<Arc<Service>>, request: Request) -> Response {
    let allowed = [
        OperationType::Query,
        OperationType::Mutation,
        OperationType::Subscription,
    ];
    let (parts, body) = request.into_parts();
    let read = request::from_body(&parts.headers, body, &service.gate);
    answer(&service, &parts, &allowed, read).await
}

/// Every other method.
pub(super) async fn other_method() -> Response {
    Failure::other_method().into_response()
}

async fn answer(
    service: &Arc<Service>,
    parts: &Parts,
    allowed: &[OperationType],
    read: impl Future<Output = Result<Asked, Failure>>,
) -> Response {
    let headers = &parts.headers;
    let format = accept::preferred(headers).filter(|format| *format != Format::Page);
    if format.is_none() {
        return respond(format, Err(Failure::not_acceptable()));
    }
    let who_and_what = async {
        let bearer = identify(service, headers).await?;
        Ok((bearer, read.await?))
    };
    let (bearer, asked) = match who_and_what.await {
        Ok(it) => it,
        Err(failure) => return respond(format, Err(failure)),
    };
    let proxy = service.client_address_header.as_ref();
    let caller = Caller {
        identity: bearer.as_ref().map(|bearer| bearer.identity.clone()),
        address: caller::address(headers, &parts.extensions, proxy),
    };
    match prepare(service, &caller, asked, allowed).await {
        Ok(prepared) if prepared.kind == OperationType::Subscription => {
            if accept::takes_events(headers) {
                events::of_results(service, bearer, prepared)
            } else {
                respond(format, Err(Failure::subscription()))
            }
        }
        Ok(prepared) if format == Some(Format::Events) => {
            events::of_results(service, bearer, prepared)
        }
        Ok(mut prepared) => {
            let name = prepared.name.take();
            let executed = execute(service, caller.identity, prepared).await;
            respond(format, Ok((executed, name)))
        }
        Err(refused) if format == Some(Format::Events) => {
            events::of_refusal(refused.into_executed())
        }
        Err(Refused::Here(failure)) => respond(format, Err(failure)),
        Err(Refused::ByGraphql(error)) => respond(format, Ok((error.into_response(), None))),
    }
}

/// Who asks, by the header.
pub(super) async fn identify(
    service: &Service,
    headers: &HeaderMap,
) -> Result<Option<Bearer>, Failure> {
    let identified = service.authenticator.authenticate(headers).await;
    identified.map_err(|refusal| match refusal {
        Refusal::BadToken(why) => {
            tracing::debug!(why, "bearer token refused");
            Failure::bad_token()
        }
        Refusal::NoKeys => Failure::no_keys(),
    })
}

/// Looks at a request and says what is wrong with it.
pub(super) async fn prepare(
    service: &Service,
    caller: &Caller,
    asked: Asked,
    allowed: &[OperationType],
) -> Result<Prepared, Refused> {
    let prepared = service.gate.prepare(caller, asked).await;
    let prepared = prepared.map_err(Refused::ByGraphql)?;
    if !allowed.contains(&prepared.kind) {
        return Err(Failure::mutation_over_get().into());
    }
    Ok(prepared)
}

async fn execute(
    service: &Service,
    identity: Option<Identity>,
    mut prepared: Prepared,
) -> Executed {
    let (keep, bytes) = (prepared.keep.take(), prepared.bytes);
    let execution = (service.execute)(identity, prepared);
    let executed = service.gate.lane().begin(bytes, execution).await;
    if was_executed(&executed) {
        service.gate.keep(keep);
    }
    executed
}

/// The results of a request as they come: one of a query or a mutation, any number of a subscription.
pub(super) fn results(
    service: &Arc<Service>,
    identity: Option<Identity>,
    prepared: Prepared,
) -> BoxStream<'static, Executed> {
    let service = Arc::clone(service);
    if prepared.kind == OperationType::Subscription {
        let bytes = prepared.bytes;
        let mut events = (service.subscribe)(identity, prepared);
        let begun = async move {
            let first = service.gate.lane().begin(bytes, events.next()).await;
            stream::iter(first).chain(events)
        };
        return stream::once(begun).flatten().boxed();
    }
    let executed = async move {
        let execution = execute(&service, identity, prepared);
        let executed = timeout(service.request_timeout, execution).await;
        executed.unwrap_or_else(|_| Executed::from_errors(vec![Failure::timed_out().into_error()]))
    };
    stream::once(executed).boxed()
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
pub(super) struct Rendered<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data: Option<&'a Value>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) errors: &'a [ServerError],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extensions: &'a BTreeMap<String, Value>,
}

impl<'a> Rendered<'a> {
    pub(super) fn of(executed: &'a Executed) -> Self {
        Self {
            data: was_executed(executed).then_some(&executed.data),
            errors: &executed.errors,
            extensions: &executed.extensions,
        }
    }
}

fn rendered(mut executed: Executed, operation: Option<String>, format: Format) -> Response {
    let headers = std::mem::take(&mut executed.http_headers);
    let body = Rendered::of(&executed);
    let status = match body.data {
        Some(_) => StatusCode::OK,
        None => refused(body.errors, format),
    };
    let code = body.errors.first().and_then(code);
    let mut response = (status, headers, Json(&body)).into_response();
    if status == StatusCode::TOO_MANY_REQUESTS {
        let seconds = body.errors.first().map_or(1, retry_after_seconds);
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
