//! Metrics for Prometheus, on a listener of their own that is not open to the world.

use std::time::Duration;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio_util::sync::CancellationToken;

use super::health::{self, Check};

/// Histograms collect single values until someone sorts them in. The exporter's own interval.
const UPKEEP: Duration = Duration::from_secs(5);

/// `/metrics`, and the health of a process that may have no other listener.
pub fn router(handle: PrometheusHandle, checks: Vec<Check>) -> Router {
    let metrics = get(move || {
        let text = handle.render();
        async { ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response() }
    });
    Router::new()
        .route("/metrics", metrics)
        .merge(health::routes(checks))
}

/// Keeps the memory of histograms bounded also while nobody fetches them.
pub async fn keep_up(handle: PrometheusHandle, stop: CancellationToken) {
    let mut interval = tokio::time::interval(UPKEEP);
    while stop.run_until_cancelled(interval.tick()).await.is_some() {
        handle.run_upkeep();
    }
}
