//! HTTP around GraphQL: methods, media types, sizes, refusals, panics and endings. What is executed is a
//! schema of three fields, so that only HTTP is under test.

#![expect(
    clippy::unwrap_used,
    reason = "a failed assertion is how a test speaks"
)]

mod answers;
mod browsers;
mod ending;
mod pages;
mod requests;
mod slow;

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use async_graphql::{Context, EmptySubscription, Object, Schema};
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use axum::routing::Router;
use clap::Parser;
use likewise::config::{self, Access, Connections, Limits};
use likewise::graphql::{Documents, Gate};
use likewise::http::auth::Authenticator;
use likewise::http::{DemoUser, Execute, Live, Service, router};
use likewise::rates::Rates;
use likewise::shutdown::Shutdown;
use serde_json::Value;
use tower::ServiceExt;

type Tiny = Schema<Query, Mutation, EmptySubscription>;

struct Query;

#[Object]
impl Query {
    async fn taps(&self, context: &Context<'_>) -> i32 {
        context.data_unchecked::<AtomicI32>().load(Ordering::SeqCst)
    }

    /// Takes its time.
    async fn slow(&self, milliseconds: u64) -> bool {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
        true
    }

    /// Fails in a way that nobody has foreseen.
    async fn panic(&self) -> bool {
        assert!(std::hint::black_box(false), "on purpose");
        true
    }

    /// Fails in a way that is foreseen, so that all data is null.
    async fn fail(&self) -> async_graphql::Result<bool> {
        tokio::task::yield_now().await;
        Err("on purpose".into())
    }
}

struct Mutation;

#[Object]
impl Mutation {
    async fn tap(&self, context: &Context<'_>) -> i32 {
        let taps = context.data_unchecked::<AtomicI32>();
        taps.fetch_add(1, Ordering::SeqCst) + 1
    }

    async fn at(&self, least: i32) -> i32 {
        least
    }
}

/// The API, and the schema behind it.
struct Api {
    routes: Router,
    taps: Tiny,
}

impl Api {
    async fn new() -> Self {
        Self::with(Duration::from_secs(5), None).await
    }

    async fn with(request_timeout: Duration, demo: Option<Vec<DemoUser>>) -> Self {
        Self::build(&[], request_timeout, demo).await
    }

    /// With settings as a user would give them.
    async fn of(arguments: &[&str]) -> Self {
        Self::build(arguments, Duration::from_secs(5), None).await
    }

    async fn build(
        arguments: &[&str],
        request_timeout: Duration,
        demo: Option<Vec<DemoUser>>,
    ) -> Self {
        let settings = Settings::parse_from(["likewise"].iter().chain(arguments));
        let access = Access {
            jwt_secret: Some("0123456789abcdef0123456789abcdef".to_owned().into()),
            ..Access::default()
        };
        let taps = Schema::build(Query, Mutation, EmptySubscription)
            .data(AtomicI32::new(0))
            .finish();
        let schema = taps.clone();
        let execute: Execute = Arc::new(move |_, prepared| {
            let schema = schema.clone();
            Box::pin(async move { schema.execute(prepared.request).await })
        });
        let routes = router(Service {
            execute,
            subscribe: Arc::new(|_, _| Box::pin(futures::stream::empty())),
            live: Live::new(&settings.live, &Shutdown::new(Duration::from_secs(1))),
            authenticator: Authenticator::new(&access).await.unwrap(),
            checks: Vec::new(),
            gate: Gate::new(settings.limits, Rates::off(), Documents::none()),
            client_address_header: None,
            connections: settings.connections,
            request_timeout,
            demo,
        });
        Self { routes, taps }
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.routes.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        Answer {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(bytes.into()).unwrap(),
        }
    }

    async fn get(&self, address: &str, headers: &[(&str, &str)]) -> Answer {
        self.send(request("GET", address, headers, Body::empty()))
            .await
    }

    /// Posts JSON and takes GraphQL's own media type, whose answers have a status of their own.
    async fn post(&self, body: impl ToString) -> Answer {
        let headers = [
            ("content-type", "application/json"),
            ("accept", "application/graphql-response+json"),
        ];
        let body = Body::from(body.to_string());
        self.send(request("POST", "/graphql", &headers, body)).await
    }

    /// How often `tap` was executed.
    async fn taps(&self) -> i64 {
        let response = self.taps.execute("{ taps }").await;
        response.data.into_json().unwrap()["taps"].as_i64().unwrap()
    }
}

#[derive(Parser)]
struct Settings {
    #[command(flatten)]
    live: config::Live,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    connections: Connections,
}

fn request(method: &str, address: &str, headers: &[(&str, &str)], body: Body) -> Request<Body> {
    let builder = Request::builder().method(method).uri(address);
    let builder = headers.iter().fold(builder, |builder, (name, value)| {
        builder.header(*name, *value)
    });
    builder.body(body).unwrap()
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    /// The limit that was passed.
    fn limit(&self) -> String {
        let limit = &self.json()["errors"][0]["extensions"]["limit"];
        limit.as_str().unwrap_or_default().to_owned()
    }

    /// The code of the first error of a body in GraphQL's shape.
    fn code(&self) -> String {
        let body = self.json();
        let error = &body["errors"][0];
        assert!(!error["message"].as_str().unwrap().is_empty());
        error["extensions"]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}
