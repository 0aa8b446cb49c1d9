//! Real listeners: requests under way are finished, stalled connections are cut off, metrics are told.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use likewise::config::Connections;
use likewise::http::metrics;
use likewise::http::{bind, serve};
use likewise::shutdown::Shutdown;
use likewise::telemetry;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::Api;

async fn listen(api: &Api, shutdown: &Shutdown) -> SocketAddr {
    let any = "127.0.0.1:0".parse().unwrap();
    let listener = bind("LIKEWISE_LISTEN", any).await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = serve(
        listener,
        api.routes.clone(),
        Connections::default(),
        shutdown.clone(),
    );
    shutdown.spawn("API", server);
    address
}

fn client() -> reqwest::Client {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    reqwest::Client::new()
}

#[tokio::test]
async fn requests_under_way_are_finished_and_new_ones_are_not_taken() {
    let api = Api::new().await;
    let shutdown = Shutdown::new(Duration::from_secs(10));
    let address = listen(&api, &shutdown).await;
    let url = format!("http://{address}/graphql");
    let body = json!({"query": "{ slow(milliseconds: 500) }"});
    let under_way = tokio::spawn(client().post(&url).json(&body).send());
    sleep(Duration::from_millis(200)).await;
    shutdown.begin();
    sleep(Duration::from_millis(50)).await;
    assert!(client().post(&url).json(&body).send().await.is_err());
    let answer = under_way.await.unwrap().unwrap();
    let answer: Value = answer.json().await.unwrap();
    assert_eq!(answer, json!({"data": {"slow": true}}));
    shutdown.finish().await.unwrap();
}

#[tokio::test]
async fn stalled_and_idle_connections_do_not_hold_the_end_up() {
    let api = Api::new().await;
    let shutdown = Shutdown::new(Duration::from_secs(1));
    let address = listen(&api, &shutdown).await;
    let mut stalled = TcpStream::connect(address).await.unwrap();
    stalled
        .write_all(b"POST /graphql HTTP/1.1\r\nHost: a\r\n")
        .await
        .unwrap();
    let _silent = TcpStream::connect(address).await.unwrap();
    let client = client();
    let url = format!("http://{address}/livez");
    client.get(&url).send().await.unwrap().text().await.unwrap();
    shutdown.begin();
    let start = Instant::now();
    shutdown.finish().await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn a_taken_address_is_named_with_its_setting() {
    let any = "127.0.0.1:0".parse().unwrap();
    let listener = bind("LIKEWISE_LISTEN", any).await.unwrap();
    let taken = listener.local_addr().unwrap();
    let error = bind("LIKEWISE_LISTEN", taken)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("LIKEWISE_LISTEN") && error.contains(&taken.to_string()),
        "{error}"
    );
}

#[tokio::test]
async fn metrics_count_requests_by_path_and_status() {
    let recorder = telemetry::recorder().unwrap();
    let shutdown = Shutdown::new(Duration::from_secs(5));
    let any = "127.0.0.1:0".parse().unwrap();
    let listener = bind("LIKEWISE_METRICS_LISTEN", any).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let routes = metrics::router(recorder, Vec::new());
    shutdown.spawn(
        "metrics",
        serve(listener, routes, Connections::default(), shutdown.clone()),
    );

    let api = Api::new().await;
    api.get("/secret/path?token=abc", &[]).await;
    api.get("/assets/nothing", &[]).await;
    let client = client();
    let answer = client.get(format!("{url}/metrics")).send().await.unwrap();
    assert!(
        answer.headers()["content-type"]
            .to_str()
            .unwrap()
            .starts_with("text/plain")
    );
    let text = answer.text().await.unwrap();
    for line in [
        r#"likewise_http_requests_total{path="other",status="404"}"#,
        r#"likewise_http_requests_total{path="/assets/{*path}",status="404"}"#,
        r#"likewise_http_request_seconds_bucket{path="other",le="0.0005"}"#,
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    assert!(!text.contains("secret"));
    let ready = client.get(format!("{url}/readyz")).send().await.unwrap();
    assert_eq!(ready.status(), 200);
    shutdown.begin();
    shutdown.finish().await.unwrap();
}
