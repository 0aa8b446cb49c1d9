//! Whether this process lives, and whether it is ready for requests.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures::future::{BoxFuture, join_all};
use serde::Serialize;

/// Whoever asks asks again in seconds; a service that takes longer is as good as away.
const PATIENCE: Duration = Duration::from_secs(1);

/// How something is that this process needs. The texts are shown to whoever asks for `/readyz`: no
/// addresses, no causes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// It works.
    Up,
    /// It works, in the way that the text tells.
    Note(String),
    /// It works, but an operator should look at it.
    Warning(String),
    /// It does not work.
    Down(String),
}

/// Something to be asked whether it works. It must only look, never change anything.
#[derive(Clone)]
pub struct Check {
    name: &'static str,
    look: Arc<dyn Fn() -> BoxFuture<'static, Health> + Send + Sync>,
}

impl Check {
    /// A check under a name such as `database`.
    pub fn new<F>(name: &'static str, look: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Health> + Send + 'static,
    {
        Self {
            name,
            look: Arc::new(move || Box::pin(look())),
        }
    }

    async fn run(&self) -> Finding {
        let health = tokio::time::timeout(PATIENCE, (self.look)()).await;
        let health = health.unwrap_or_else(|_| Health::Down("takes too long".to_owned()));
        let (status, message) = match health {
            Health::Up => (Status::Up, None),
            Health::Note(text) => (Status::Up, Some(text)),
            Health::Warning(text) => (Status::Warning, Some(text)),
            Health::Down(text) => (Status::Down, Some(text)),
        };
        Finding {
            name: self.name,
            status,
            message,
        }
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Check").field(&self.name).finish()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Up,
    Warning,
    Down,
}

#[derive(Debug, Serialize)]
struct Finding {
    name: &'static str,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

#[derive(Debug, Serialize)]
struct Report {
    ready: bool,
    checks: Vec<Finding>,
}

/// `/livez` and `/readyz`, for the API's listener and for the one of metrics.
pub(super) fn routes(checks: Vec<Check>) -> Router {
    let checks: Arc<[Check]> = checks.into();
    Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(move || readyz(Arc::clone(&checks))))
}

/// Says only that requests are answered: a restart mends nothing that is wrong elsewhere.
async fn livez() -> Response {
    ([(CACHE_CONTROL, "no-store")], "alive\n").into_response()
}

async fn readyz(checks: Arc<[Check]>) -> Response {
    let checks = join_all(checks.iter().map(Check::run)).await;
    let ready = checks.iter().all(|check| check.status != Status::Down);
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let report = Json(Report { ready, checks });
    (status, [(CACHE_CONTROL, "no-store")], report).into_response()
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::time::Instant;

    use axum::body::to_bytes;
    use serde_json::{Value, json};

    use super::*;

    async fn ask(checks: Vec<Check>) -> (StatusCode, Value) {
        let response = readyz(checks.into()).await;
        let status = response.status();
        let body = to_bytes(response.into_body(), 10_000).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn a_warning_is_listed_and_does_not_fail() {
        let warning = || ready(Health::Warning("policy is allkeys-lru".to_owned()));
        let checks = vec![
            Check::new("database", || ready(Health::Up)),
            Check::new("redis", warning),
        ];
        let (status, body) = ask(checks).await;
        assert_eq!(status, StatusCode::OK);
        let expected = json!({"ready": true, "checks": [
            {"name": "database", "status": "up"},
            {"name": "redis", "status": "warning", "message": "policy is allkeys-lru"},
        ]});
        assert_eq!(body, expected);
    }

    #[tokio::test]
    async fn what_is_down_or_hangs_fails_within_a_second_or_so() {
        let start = Instant::now();
        let checks = vec![
            Check::new("database", pending),
            Check::new("redis", || ready(Health::Down("refuses".to_owned()))),
            Check::new("worker", pending),
        ];
        let (status, body) = ask(checks).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(body["ready"], false);
        assert_eq!(body["checks"][0]["message"], "takes too long");
        assert!(start.elapsed() < PATIENCE * 2);
    }
}
