//! Random requests to the API: HTTP's reading of them, JSON, the guard, the parser and validation.
//!
//! This is no fuzzer that watches which code it reaches, as those need a nightly compiler: a generator writes
//! documents by the grammar, breaks some of them, and goes on until its time is over. It prints the seed of what
//! failed; `LIKEWISE_FUZZ_SEED` repeats it. `LIKEWISE_FUZZ_SECONDS` is how long it goes on: `make fuzz` takes a minute.

#![expect(
    clippy::unwrap_used,
    reason = "a failed assertion is how a test speaks"
)]

mod generate;

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_graphql::{EmptySubscription, InputObject, Object, Schema};
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use axum::routing::Router;
use likewise::config::{Access, Connections, Limits};
use likewise::graphql::{Documents, Gate};
use likewise::http::auth::Authenticator;
use likewise::http::{Execute, Live, Service, router};
use likewise::rates::Rates;
use likewise::shutdown::Shutdown;
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::Value;
use tower::ServiceExt;

/// How long it goes on if nobody says: as long as other tests take.
const USUAL: Duration = Duration::from_secs(3);
/// What no request may take, in a build without optimization on a busy machine.
const LONGEST: Duration = Duration::from_secs(2);

struct Query;

/// A thing that contains itself, so that documents of any depth are valid.
#[Object]
impl Query {
    async fn a(&self) -> Query {
        Self
    }

    async fn b(&self, n: Option<i32>, text: Option<String>, list: Option<Vec<i32>>) -> Vec<Query> {
        let _ = (text, list);
        (0..n.unwrap_or(1).clamp(0, 2)).map(|_| Self).collect()
    }

    async fn c(&self, input: Option<Nested>) -> Option<i32> {
        input.and_then(|it| it.n)
    }

    async fn activities(&self, first: Option<i32>, last: Option<i32>) -> Option<Query> {
        (first != last).then_some(Self)
    }
}

#[derive(InputObject)]
struct Nested {
    n: Option<i32>,
    nested: Option<Box<Nested>>,
}

struct Mutation;

#[Object]
impl Mutation {
    async fn a(&self) -> Query {
        Query
    }
}

async fn api() -> Router {
    let access = Access {
        jwt_secret: Some("0123456789abcdef0123456789abcdef".to_owned().into()),
        ..Access::default()
    };
    let schema = Schema::build(Query, Mutation, EmptySubscription).finish();
    let execute: Execute = Arc::new(move |_, prepared| {
        let schema = schema.clone();
        Box::pin(async move { schema.execute(prepared.request).await })
    });
    router(Service {
        execute,
        subscribe: Arc::new(|_, _| Box::pin(futures::stream::empty())),
        live: live(),
        authenticator: Authenticator::new(&access).await.unwrap(),
        checks: Vec::new(),
        gate: Gate::new(Limits::default(), Rates::off(), Documents::none()),
        client_address_header: None,
        connections: Connections::default(),
        request_timeout: Duration::from_mins(1),
        demo: None,
    })
}

/// Any request is answered in time, in GraphQL's shape, and is nobody's fault but the client's.
async fn check(api: &Router, body: Vec<u8>, seed: u64) {
    let request = Request::post("/graphql")
        .header("content-type", "application/json")
        .header("accept", "application/graphql-response+json")
        .body(Body::from(body.clone()))
        .unwrap();
    let start = Instant::now();
    let response = api.clone().oneshot(request).await.unwrap();
    let took = start.elapsed();
    let status = response.status();
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let about = || format!("seed {seed}: {}", String::from_utf8_lossy(&body));
    assert!(took < LONGEST, "{took:?}, {}", about());
    let expected = matches!(
        status,
        StatusCode::OK | StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE
    );
    assert!(expected, "{status}, {}", about());
    let answer: Value = serde_json::from_slice(&bytes).unwrap_or_else(|_| panic!("{}", about()));
    let is_answer = answer.get("data").is_some() || answer["errors"][0]["message"].is_string();
    assert!(is_answer, "{answer}, {}", about());
}

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no number")),
    )
}

#[tokio::test]
async fn any_request_is_answered_soon_and_is_no_fault_of_ours() {
    let api = api().await;
    let fixed = setting("LIKEWISE_FUZZ_SEED");
    let span = setting("LIKEWISE_FUZZ_SECONDS").map_or(USUAL, Duration::from_secs);
    let end = Instant::now() + span;
    let (mut count, mut read, mut seed) = (0_u64, 0_u64, fixed.unwrap_or_else(rand::random));
    while Instant::now() < end {
        let mut random = StdRng::seed_from_u64(seed);
        let (body, is_whole) = generate::body(&mut random);
        read += u64::from(is_whole);
        check(&api, body, seed).await;
        count += 1;
        if fixed.is_some() {
            break;
        }
        seed = seed.wrapping_add(1);
    }
    println!("{count} requests in {span:?}, {read} of them with a document by the grammar");
    assert!(fixed.is_some() || count > 100, "only {count} requests");
}

fn live() -> Live {
    #[derive(clap::Parser)]
    struct Settings {
        #[command(flatten)]
        live: likewise::config::Live,
    }
    let settings: Settings = clap::Parser::parse_from(["likewise"]);
    Live::new(&settings.live, &Shutdown::new(Duration::from_secs(1)))
}
