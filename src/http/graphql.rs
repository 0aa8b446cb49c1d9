//! `/graphql`: from a request over HTTP to its execution, and back.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_graphql::parser::types::OperationType;
use async_graphql::{Request, Response as Executed, ServerError, Value};
use axum::Json;
use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, BoxStream, StreamExt};
use serde::Serialize;
use tokio::time::timeout;

use super::accept::{self, Format};
use super::auth::{Bearer, Refusal};
use super::error::Failure;
use super::observe::Note;
use super::{Service, document, events, pages, request, ws};
use crate::domain::Identity;

/// Executes one query or mutation for whoever asks.
pub type Execute =
    Arc<dyn Fn(Option<Identity>, Request) -> BoxFuture<'static, Executed> + Send + Sync>;

/// Executes a subscription for whoever asks.
pub type Subscribe =
    Arc<dyn Fn(Option<Identity>, Request) -> BoxStream<'static, Executed> + Send + Sync>;

/// Of a document with thousands of mistakes, the first ones are enough to mend it.
const MOST_ERRORS: usize = 20;
/// Names in the log are cut here.
const LONGEST_NAME: usize = 64;

/// Queries, subscriptions, and `GraphiQL` for a browser.
pub(super) async fn get(
    State(service): State<Arc<Service>>,
    uri: Uri,
    headers: HeaderMap,
    request: HttpRequest,
) -> Response {
    if ws::is_wanted(&headers) {
        return ws::open(service, request).await;
    }
    if accept::preferred(&headers) == Some(Format::Page) {
        return pages::graphiql(&headers);
    }
    let allowed = [OperationType::Query, OperationType::Subscription];
    let read = async { request::from_query(&uri) };
    answer(&service, &headers, &allowed, read).await
}

/// Queries, mutations and subscriptions.
pub(super) async fn post(
    State(service): State<Arc<Service>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let allowed = [
        OperationType::Query,
        OperationType::Mutation,
        OperationType::Subscription,
    ];
    let read = request::from_body(&headers, body);
    answer(&service, &headers, &allowed, read).await
}

/// Every other method.
pub(super) async fn other_method() -> Response {
    Failure::other_method().into_response()
}

async fn answer(
    service: &Arc<Service>,
    headers: &HeaderMap,
    allowed: &[OperationType],
    read: impl Future<Output = Result<Request, Failure>>,
) -> Response {
    let format = accept::preferred(headers).filter(|format| *format != Format::Page);
    if format.is_none() {
        return respond(format, Err(Failure::not_acceptable()));
    }
    let prepare = async {
        let bearer = identify(service, headers).await?;
        Ok((bearer, read.await?))
    };
    let (bearer, request) = match prepare.await {
        Ok(it) => it,
        Err(failure) => return respond(format, Err(failure)),
    };
    match self::prepare(request, allowed) {
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
        Ok(prepared) => {
            let identity = bearer.map(|bearer| bearer.identity);
            let executed = (service.execute)(identity, prepared.request).await;
            respond(format, Ok((executed, prepared.name)))
        }
        Err(failure) if format == Some(Format::Events) => events::of_failure(failure),
        Err(failure) => respond(format, Err(failure)),
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

/// A request that may be executed.
pub(super) struct Prepared {
    request: Request,
    kind: OperationType,
    /// Of the operation, for the log.
    pub(super) name: Option<String>,
}

/// Looks at a request and says what is wrong with it.
pub(super) fn prepare(
    mut request: Request,
    allowed: &[OperationType],
) -> Result<Prepared, Failure> {
    let wanted = request.operation_name.as_deref();
    let document = document::parse(&request.query).map_err(Failure::bad_document)?;
    let selected = document::selected(&document, wanted).map_err(Failure::bad_document)?;
    let (name, operation) = selected;
    let kind = operation.ty;
    if !allowed.contains(&kind) {
        return Err(Failure::mutation_over_get());
    }
    document::check_variables(operation, &request.variables).map_err(Failure::bad_document)?;
    let name = name.map(|name| name.chars().take(LONGEST_NAME).collect());
    // What was looked at is what is executed: nothing reads the text a second time.
    request.set_parsed_query(document);
    Ok(Prepared {
        request,
        kind,
        name,
    })
}

/// The results of a request as they come: one of a query or a mutation, any number of a subscription.
pub(super) fn results(
    service: &Service,
    identity: Option<Identity>,
    prepared: Prepared,
) -> BoxStream<'static, Executed> {
    if prepared.kind == OperationType::Subscription {
        return (service.subscribe)(identity, prepared.request);
    }
    let execution = (service.execute)(identity, prepared.request);
    let limited = timeout(service.request_timeout, execution);
    let executed = limited.map(|executed| {
        executed.unwrap_or_else(|_| Executed::from_errors(vec![Failure::timed_out().into_error()]))
    });
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
        Ok((executed, operation)) => rendered(executed, operation),
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
    /// Cuts off errors of which there are more than anybody reads.
    pub(super) fn of(executed: &'a mut Executed) -> Self {
        let was_executed = was_executed(executed);
        if !was_executed {
            executed.errors.truncate(MOST_ERRORS);
        }
        Self {
            data: was_executed.then_some(&executed.data),
            errors: &executed.errors,
            extensions: &executed.extensions,
        }
    }
}

fn rendered(mut executed: Executed, operation: Option<String>) -> Response {
    let headers = std::mem::take(&mut executed.http_headers);
    let body = Rendered::of(&mut executed);
    let status = match body.data {
        Some(_) => StatusCode::OK,
        None => refused(body.errors),
    };
    let code = body.errors.first().and_then(code);
    let mut response = (status, headers, Json(&body)).into_response();
    response.extensions_mut().insert(Note { operation, code });
    response
}

/// Errors of execution have the path of a field; the others were found before any field was resolved.
fn was_executed(executed: &Executed) -> bool {
    let errors = &executed.errors;
    executed.data != Value::Null || errors.is_empty() || errors.iter().any(|it| !it.path.is_empty())
}

/// The status of a request that GraphQL refused as a whole.
fn refused(errors: &[ServerError]) -> StatusCode {
    match errors.first().and_then(code).as_deref() {
        Some("UNAUTHENTICATED") => StatusCode::UNAUTHORIZED,
        Some("FORBIDDEN") => StatusCode::FORBIDDEN,
        Some("RATE_LIMITED") => StatusCode::TOO_MANY_REQUESTS,
        Some("UNAVAILABLE") => StatusCode::SERVICE_UNAVAILABLE,
        Some("INTERNAL") => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    }
}

fn code(error: &ServerError) -> Option<String> {
    match error.extensions.as_ref()?.get("code")? {
        Value::String(code) => Some(code.clone()),
        _ => None,
    }
}
