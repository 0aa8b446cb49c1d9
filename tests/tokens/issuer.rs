//! An identity provider: a real HTTP server on this machine that can fail in every way.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use likewise::config::Access;
use likewise::http::auth::{Authenticator, Pace};
use serde_json::Value;

/// Short, so that tests need not wait; long enough to tell two fetches apart.
pub const PACE: Pace = Pace {
    least: Duration::from_millis(400),
    renewal: Duration::from_millis(800),
    timeout: Duration::from_millis(500),
};

/// How it answers.
#[derive(Clone)]
pub enum Mood {
    Keys(Value),
    Broken,
    Garbage,
    Slow,
    Huge,
    Elsewhere(String),
}

pub struct Issuer {
    address: String,
    state: Arc<Desk>,
}

struct Desk {
    mood: Mutex<Mood>,
    asked: AtomicUsize,
}

impl Issuer {
    pub async fn start(keys: Value) -> Self {
        // The client needs a provider of TLS, also for plain addresses.
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let state = Arc::new(Desk {
            mood: Mutex::new(Mood::Keys(keys)),
            asked: AtomicUsize::new(0),
        });
        let routes = Router::new()
            .route("/jwks.json", get(answer))
            .with_state(Arc::clone(&state));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { address, state }
    }

    pub fn url(&self) -> String {
        format!("http://{}/jwks.json", self.address)
    }

    pub fn is(&self, mood: Mood) {
        *self.state.mood.lock().unwrap() = mood;
    }

    /// How often somebody asked for its keys.
    pub fn asked(&self) -> usize {
        self.state.asked.load(Ordering::SeqCst)
    }

    /// Believes this issuer; keys are fetched no more often than by default.
    pub async fn authenticator(&self) -> Authenticator {
        Authenticator::new(&self.access()).await.unwrap()
    }

    /// Believes this issuer, and asks it often.
    pub async fn eager_authenticator(&self) -> Authenticator {
        Authenticator::with_pace(&self.access(), PACE)
            .await
            .unwrap()
    }

    fn access(&self) -> Access {
        Access {
            jwks: Some(self.url()),
            jwt_issuer: Some("https://id.example".to_owned()),
            jwt_audience: Some("likes".to_owned()),
            ..Access::default()
        }
    }
}

async fn answer(State(state): State<Arc<Desk>>) -> Response {
    state.asked.fetch_add(1, Ordering::SeqCst);
    let mood = state.mood.lock().unwrap().clone();
    match mood {
        Mood::Keys(keys) => keys.to_string().into_response(),
        Mood::Broken => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Mood::Garbage => "<html>Sign in</html>".into_response(),
        Mood::Slow => {
            tokio::time::sleep(PACE.timeout * 20).await;
            StatusCode::OK.into_response()
        }
        Mood::Huge => " ".repeat(50 * 1024 * 1024).into_response(),
        Mood::Elsewhere(url) => (StatusCode::FOUND, [(header::LOCATION, url)]).into_response(),
    }
}
