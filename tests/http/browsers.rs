//! Pages of other sites, compression, and more requests than can be worked on.

use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use futures::future::join_all;
use serde_json::json;

use crate::{Api, request};

const PREFLIGHT: [(&str, &str); 3] = [
    ("origin", "https://app.example"),
    ("access-control-request-method", "POST"),
    (
        "access-control-request-headers",
        "authorization,content-type,x-anything",
    ),
];

#[tokio::test]
async fn pages_of_listed_sites_may_ask_and_others_may_not() {
    let api = Api::of(&["--origins", "https://app.example,https://b.example"]).await;
    let preflight = request("OPTIONS", "/graphql", &PREFLIGHT, Body::empty());
    let answer = api.send(preflight).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(
        answer.header("access-control-allow-origin"),
        "https://app.example"
    );
    assert!(
        answer
            .header("access-control-allow-methods")
            .contains("POST")
    );
    assert!(
        answer
            .header("access-control-allow-headers")
            .contains("authorization")
    );
    assert_eq!(answer.header("access-control-allow-credentials"), "");
    let asked = api
        .get("/graphql?query={taps}", &[("origin", "https://b.example")])
        .await;
    assert_eq!(
        asked.header("access-control-allow-origin"),
        "https://b.example"
    );
    assert!(
        asked
            .header("access-control-expose-headers")
            .contains("x-request-id")
    );
    let vary = asked.headers.get_all("vary").iter();
    let vary: Vec<_> = vary.map(|value| value.to_str().unwrap()).collect();
    assert!(
        vary.iter().any(|value| value.contains("origin")),
        "{vary:?}"
    );
    let stranger = api
        .get("/graphql?query={taps}", &[("origin", "https://c.example")])
        .await;
    assert_eq!(stranger.header("access-control-allow-origin"), "");
}

#[tokio::test]
async fn nobody_is_listed_if_nobody_is_set() {
    let api = Api::new().await;
    let preflight = request("OPTIONS", "/graphql", &PREFLIGHT, Body::empty());
    let answer = api.send(preflight).await;
    assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(answer.header("access-control-allow-origin"), "");
}

#[tokio::test]
async fn long_answers_are_compressed_for_those_who_take_it() {
    let api = Api::new().await;
    let long = "/assets/feed/feed.css";
    for encoding in ["gzip", "br"] {
        let packed = request("GET", long, &[("accept-encoding", encoding)], Body::empty());
        let response = tower::ServiceExt::oneshot(api.routes.clone(), packed)
            .await
            .unwrap();
        assert_eq!(response.headers()["content-encoding"], encoding);
    }
    let plain = api.get(long, &[]).await;
    assert_eq!(plain.header("content-encoding"), "");
    let short = api
        .get("/graphql?query={taps}", &[("accept-encoding", "gzip")])
        .await;
    assert_eq!(short.header("content-encoding"), "");
}

#[tokio::test]
async fn more_requests_than_can_be_worked_on_are_answered_at_once() {
    let api = Api::of(&["--max-requests", "2"]).await;
    let slow = json!({"query": "{ slow(milliseconds: 500) }"});
    let answers = join_all((0..6).map(|_| api.post(&slow))).await;
    let (done, refused): (Vec<_>, Vec<_>) = answers
        .iter()
        .partition(|answer| answer.status == StatusCode::OK);
    assert_eq!((done.len(), refused.len()), (2, 4));
    for answer in refused {
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(answer.code(), "UNAVAILABLE");
        assert_eq!(answer.header("retry-after"), "1");
    }
    // Health is answered all the same, and there is room again.
    let (busy, health) = tokio::join!(join_all((0..2).map(|_| api.post(&slow))), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        api.get("/livez", &[]).await.status
    });
    assert_eq!(health, StatusCode::OK);
    assert!(busy.iter().all(|answer| answer.status == StatusCode::OK));
}
