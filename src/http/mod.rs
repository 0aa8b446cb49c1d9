//! The outermost layer: routes, who asks, limits, and what goes wrong before GraphQL begins.

mod accept;
pub mod auth;
mod caller;
mod connection;
mod error;
mod events;
mod graphql;
mod guard;
pub mod health;
mod leftovers;
mod live;
pub mod metrics;
mod observe;
mod origins;
mod pages;
mod request;
mod server;
mod slots;
mod stream;
mod ws;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use tokio::sync::Semaphore;
use tower::ServiceBuilder;
use tower_http::CompressionLevel;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, Predicate, SizeAbove};
use tower_http::cors::CorsLayer;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::config::Connections;
use crate::graphql::Gate;
use auth::Authenticator;
pub use graphql::{Execute, Subscribe};
use health::Check;
pub use live::Live;
pub use pages::DemoUser;
pub use server::{BindError, bind, serve};

/// Answers that are no pages load nothing and are shown in no frame.
const NO_PAGE: HeaderValue =
    HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; base-uri 'none'");

/// Bytes from which an answer is compressed: what fits into one packet would not arrive sooner.
const COMPRESSED_FROM: u64 = 1_024;

/// What the API is made of.
pub struct Service {
    /// Executes a query or a mutation for whoever asks.
    pub execute: Execute,
    /// Executes a subscription for whoever asks.
    pub subscribe: Subscribe,
    /// What goes on longer than a request.
    pub live: Live,
    /// Finds out who asks.
    pub authenticator: Authenticator,
    /// What has to work for this process to be ready.
    pub checks: Vec<Check>,
    /// What every request passes before it is executed.
    pub gate: Gate,
    /// The header in which a proxy in front names the client's address.
    pub client_address_header: Option<HeaderName>,
    /// How many requests there may be at once.
    pub connections: Connections,
    /// After this, a request is answered with `UNAVAILABLE`.
    pub request_timeout: Duration,
    /// Of `dev` only: the feed page, and the users that it can switch between.
    pub demo: Option<Vec<DemoUser>>,
}

/// All routes, behind all middleware.
pub fn router(service: Service) -> Router {
    let timeout = service.request_timeout;
    let cors = origins::cors(&service.live.settings.origins);
    let room = Arc::new(Semaphore::new(service.connections.max_requests));
    let health = health::routes(service.checks.clone());
    let is_demo = service.demo.is_some();
    let graphql = get(graphql::get)
        .post(graphql::post)
        .fallback(graphql::other_method)
        // Pages and health are answered however busy GraphQL is.
        .layer(from_fn_with_state(room, guard::limit_concurrency));

    let mut routes = Router::new()
        .route("/graphql", graphql)
        .route("/assets/{*path}", get(pages::asset));
    if is_demo {
        routes = routes
            .route("/", get(pages::feed))
            .route("/dev/users", get(pages::demo_users));
    }
    let routes = routes
        .with_state(Arc::new(service))
        .merge(health)
        .fallback(error::not_found);
    with_middleware(routes, cors, timeout)
}

/// The middleware, from the outside in.
fn with_middleware(routes: Router, cors: Option<CorsLayer>, timeout: Duration) -> Router {
    let layers = ServiceBuilder::new()
        // Outermost: gives the request its id, and logs and counts also what other layers answer.
        .layer(from_fn(observe::observe))
        // Browsers take answers for what they are declared to be, never for a script.
        .layer(SetResponseHeaderLayer::if_not_present(
            X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ))
        // Pages bring policies of their own, which stay.
        .layer(SetResponseHeaderLayer::if_not_present(
            CONTENT_SECURITY_POLICY,
            NO_PAGE,
        ))
        // An address may hold a query; it is nobody else's business.
        .layer(SetResponseHeaderLayer::if_not_present(
            REFERRER_POLICY,
            HeaderValue::from_static("no-referrer"),
        ))
        // Answers of a kilobyte and more, but for streams and pictures, take half the time on a phone's network.
        .layer(compression())
        // Only for origins that are set: preflights are answered here and get no further.
        .option_layer(cors)
        // A panic ends one request, not the connection that others share.
        .layer(CatchPanicLayer::custom(guard::panicked))
        // What takes too long is dropped where it stands, and its answer passes the rest.
        .layer(from_fn_with_state(timeout, guard::limit_time))
        // Innermost: an answer that comes before its request has been read waits for the rest of it.
        .layer(from_fn(leftovers::read_off));
    routes.layer(layers)
}

fn compression() -> CompressionLayer<impl Predicate> {
    let worth_it = DefaultPredicate::new().and(SizeAbove::new(COMPRESSED_FROM));
    CompressionLayer::new()
        .quality(CompressionLevel::Fastest)
        .compress_when(worth_it)
}
