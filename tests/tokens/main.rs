//! Hostile and odd bearer tokens, sent to the API: none wrongly accepted, none wrongly refused, and one
//! text for all that are refused.

#![expect(
    clippy::unwrap_used,
    reason = "a failed assertion is how a test speaks"
)]

mod forge;
mod issuer;
mod keeping;
mod public;
mod shared;

use std::sync::Arc;
use std::time::Duration;

use async_graphql::{Response, Value};
use axum::body::{Body, to_bytes};
use axum::http::{HeaderValue, Request, StatusCode, header};
use axum::routing::Router;
use likewise::config::{Connections, Limits};
use likewise::graphql::{Documents, Gate};
use likewise::http::auth::Authenticator;
use likewise::http::{Execute, Live, Service, router};
use likewise::rates::Rates;
use likewise::shutdown::Shutdown;
use serde_json::json;
use tower::ServiceExt;

/// What a case expects.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    /// Executed for the bearer of this subject.
    As(String),
    /// Executed for nobody.
    Anonymous,
    /// 401, with the one text.
    Refused,
    /// 503: nobody can tell.
    Unavailable,
}

/// The API with these settings; instead of GraphQL's, its answer is the subject of who asks.
fn api(authenticator: Authenticator) -> Router {
    let execute: Execute = Arc::new(|identity, _| {
        Box::pin(async {
            let subject = identity.map(|it| it.subject.as_str().to_owned());
            Response::new(subject.map_or(Value::Null, Value::String))
        })
    });
    router(Service {
        execute,
        subscribe: Arc::new(|_, _| Box::pin(futures::stream::empty())),
        live: live(),
        authenticator,
        checks: Vec::new(),
        gate: Gate::new(Limits::default(), Rates::off(), Documents::none()),
        client_address_header: None,
        connections: Connections::default(),
        request_timeout: Duration::from_secs(20),
        demo: None,
    })
}

/// Nothing here goes on longer than a request.
fn live() -> Live {
    #[derive(clap::Parser)]
    struct Settings {
        #[command(flatten)]
        live: likewise::config::Live,
    }
    let settings: Settings = clap::Parser::parse_from(["likewise"]);
    Live::new(&settings.live, &Shutdown::new(Duration::from_secs(1)))
}

/// Sends these `Authorization` headers.
async fn send(api: &Router, headers: &[Vec<u8>]) -> Answer {
    let body = json!({"query": "{ viewer { id } }"}).to_string();
    let mut request = Request::post("/graphql")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body))
        .unwrap();
    for value in headers {
        let value = HeaderValue::from_bytes(value).unwrap();
        request.headers_mut().append(header::AUTHORIZATION, value);
    }
    let response = api.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let challenge = response.headers().get(header::WWW_AUTHENTICATE).cloned();
    let body = to_bytes(response.into_body(), 10_000).await.unwrap();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    match status {
        StatusCode::OK => match body["data"].as_str() {
            Some(subject) => Answer::As(subject.to_owned()),
            None => Answer::Anonymous,
        },
        StatusCode::UNAUTHORIZED => {
            assert_eq!(challenge.unwrap(), r#"Bearer error="invalid_token""#);
            let message = "The bearer token is not valid. Sign in again, or send no Authorization \
                           header to stay anonymous.";
            let error = json!({"message": message, "extensions": {"code": "UNAUTHENTICATED"}});
            assert_eq!(body, json!({ "errors": [error] }));
            Answer::Refused
        }
        StatusCode::SERVICE_UNAVAILABLE => {
            assert_eq!(body["errors"][0]["extensions"]["code"], "UNAVAILABLE");
            Answer::Unavailable
        }
        other => panic!("{other}: {body}"),
    }
}

/// Sends one token, as it should be sent.
async fn bear(api: &Router, token: &str) -> Answer {
    send(api, &[format!("Bearer {token}").into_bytes()]).await
}

fn ada() -> Answer {
    Answer::As("ada".to_owned())
}
