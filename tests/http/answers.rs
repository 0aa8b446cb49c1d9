//! Media types, headers and ids of answers; panics and time.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::StatusCode;
use serde_json::json;

use crate::{Api, request};

#[tokio::test]
async fn the_media_type_is_the_one_that_was_asked_for() {
    let api = Api::new().await;
    let body = r#"{"query":"{taps}"}"#;
    for (accept, content_type) in [
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        (
            "application/graphql-response+json",
            "application/graphql-response+json",
        ),
        (
            "application/graphql-response+json, application/json;q=0.9",
            "application/graphql-response+json",
        ),
    ] {
        let headers = [("content-type", "application/json"), ("accept", accept)];
        let answer = api
            .send(request("POST", "/graphql", &headers, body.into()))
            .await;
        assert_eq!(answer.header("content-type"), content_type, "{accept}");
        assert_eq!(answer.header("vary"), "accept, authorization");
        // Refusals too.
        let answer = api.get("/graphql?query={", &[("accept", accept)]).await;
        assert_eq!(answer.header("content-type"), content_type, "{accept}");
    }
    for accept in ["text/html", "image/png", "application/json;q=0"] {
        let headers = [("content-type", "application/json"), ("accept", accept)];
        let answer = api
            .send(request("POST", "/graphql", &headers, body.into()))
            .await;
        assert_eq!(answer.status, StatusCode::NOT_ACCEPTABLE, "{accept}");
        assert_eq!(answer.code(), "BAD_USER_INPUT");
    }
}

#[tokio::test]
async fn other_methods_and_paths_are_refused_in_the_same_shape() {
    let api = Api::new().await;
    for method in ["PUT", "PATCH", "DELETE", "OPTIONS"] {
        let answer = api
            .send(request(method, "/graphql", &[], Body::empty()))
            .await;
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{method}");
        assert_eq!(answer.header("allow"), "GET, HEAD, POST");
        assert_eq!(answer.code(), "BAD_USER_INPUT");
    }
    for path in [
        "/",
        "/graphql/",
        "/dev/users",
        "/metrics",
        "/assets/../Cargo.toml",
    ] {
        let answer = api.get(path, &[]).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(answer.code(), "NOT_FOUND");
    }
}

#[tokio::test]
async fn every_answer_has_an_id_and_headers_that_protect() {
    let api = Api::new().await;
    for path in ["/graphql?query={taps}", "/livez", "/readyz", "/nothing"] {
        let answer = api.get(path, &[]).await;
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert!(
            answer
                .header("content-security-policy")
                .contains("default-src 'none'")
        );
        assert_eq!(answer.header("x-request-id").len(), 32);
    }
    let sane = "7f3c.a-B_9";
    let answer = api.get("/livez", &[("x-request-id", sane)]).await;
    assert_eq!(answer.header("x-request-id"), sane);
    let long = "a".repeat(65);
    for insane in ["", "a b", "a;b", "<script>", &long] {
        let answer = api.get("/livez", &[("x-request-id", insane)]).await;
        assert_ne!(answer.header("x-request-id"), insane);
    }
}

#[tokio::test]
async fn a_panic_ends_its_own_request_only() {
    let api = Api::new().await;
    let answer = api.post(json!({"query": "{ panic }"})).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(answer.code(), "INTERNAL");
    assert!(!answer.text.contains("on purpose"), "{}", answer.text);
    assert_eq!(answer.header("x-request-id").len(), 32);
    assert_eq!(
        api.post(json!({"query": "{ taps }"})).await.status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn a_request_without_end_is_answered_in_time() {
    let api = Api::with(Duration::from_millis(50), None).await;
    let start = Instant::now();
    let answer = api
        .post(json!({"query": "{ slow(milliseconds: 20000) }"}))
        .await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.code(), "UNAVAILABLE");
    assert_eq!(
        answer.json()["errors"][0]["extensions"]["outcome"],
        "unknown"
    );
    assert!(start.elapsed() < Duration::from_secs(5));
}
