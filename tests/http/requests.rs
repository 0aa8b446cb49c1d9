//! What is executed, and what is refused before it is.

use axum::body::Body;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::{Api, request};

#[tokio::test]
async fn queries_come_by_post_and_get_and_mutations_by_post() {
    let api = Api::new().await;
    let answer = api.post(json!({"query": "mutation { tap }"})).await;
    assert_eq!(
        (answer.status, answer.json()),
        (StatusCode::OK, json!({"data": {"tap": 1}}))
    );
    let variables = json!({
        "query": "query A($m: Int!) { slow(milliseconds: $m) } query B { taps }",
        "operationName": "A", "variables": {"m": 0}, "extensions": {"any": "thing"},
    });
    assert_eq!(
        api.post(variables).await.json(),
        json!({"data": {"slow": true}})
    );
    for address in [
        "/graphql?query=%7Btaps%7D",
        "/graphql?query=query+A($m:Int!){slow(milliseconds:$m)}query+B{taps}&operationName=B",
        "/graphql?query=%7Btaps%7D&operationName=&variables=%7B%7D&unknown=1",
    ] {
        let answer = api.get(address, &[]).await;
        assert_eq!(answer.json(), json!({"data": {"taps": 1}}), "{address}");
        assert_eq!(answer.header("cache-control"), "no-store");
    }
}

#[tokio::test]
async fn a_mutation_never_runs_over_get() {
    let api = Api::new().await;
    for (address, method) in [
        ("/graphql?query=mutation{tap}", "GET"),
        ("/graphql?query=mutation{tap}", "HEAD"),
        (
            "/graphql?query=query+A{taps}mutation+B{tap}&operationName=B",
            "GET",
        ),
        ("/graphql?query=%23query%0Amutation{tap}", "GET"),
    ] {
        let answer = api.send(request(method, address, &[], Body::empty())).await;
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{address}");
        assert_eq!(answer.header("allow"), "POST");
        if method == "GET" {
            assert_eq!(answer.code(), "BAD_USER_INPUT");
        }
    }
    // A browser that follows a link gets a page, which sends nothing by itself.
    let page = [("accept", "text/html,*/*;q=0.8")];
    let answer = api.get("/graphql?query=mutation{tap}", &page).await;
    assert!(answer.header("content-type").starts_with("text/html"));
    assert_eq!(api.taps().await, 0);
}

#[tokio::test]
async fn only_bodies_that_need_a_preflight_are_read() {
    let api = Api::new().await;
    let body = r#"{"query":"mutation{tap}"}"#;
    for content_type in [
        "text/plain",
        "text/plain; application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/graphql",
        "application/json; charset=utf-16",
        "application/jsonp",
        "",
    ] {
        let headers = [("content-type", content_type)];
        let answer = api
            .send(request("POST", "/graphql", &headers, body.into()))
            .await;
        assert_eq!(
            answer.status,
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "{content_type}"
        );
        assert_eq!(answer.code(), "BAD_USER_INPUT");
    }
    let none = request("POST", "/graphql", &[], body.into());
    assert_eq!(
        api.send(none).await.status,
        StatusCode::UNSUPPORTED_MEDIA_TYPE
    );
    let two = [
        ("content-type", "application/json"),
        ("content-type", "text/plain"),
    ];
    let two = request("POST", "/graphql", &two, body.into());
    assert_eq!(
        api.send(two).await.status,
        StatusCode::UNSUPPORTED_MEDIA_TYPE
    );
    let packed = [
        ("content-type", "application/json"),
        ("content-encoding", "gzip"),
    ];
    let packed = request("POST", "/graphql", &packed, body.into());
    assert_eq!(
        api.send(packed).await.status,
        StatusCode::UNSUPPORTED_MEDIA_TYPE
    );
    assert_eq!(api.taps().await, 0);

    for content_type in ["application/json", "Application/JSON; charset=\"UTF-8\""] {
        let headers = [("content-type", content_type)];
        let answer = api
            .send(request("POST", "/graphql", &headers, body.into()))
            .await;
        assert_eq!(answer.status, StatusCode::OK, "{content_type}");
    }
}

#[tokio::test]
async fn malformed_bodies_are_answered_with_what_was_wrong() {
    let api = Api::new().await;
    for (body, wrong) in [
        (String::new(), "The body is not JSON"),
        ("{".to_owned(), "The body is not JSON"),
        ("query=%7Btaps%7D".to_owned(), "The body is not JSON"),
        ("\u{0}".to_owned(), "The body is not JSON"),
        (r#"{"query":"{taps}"} x"#.to_owned(), "The body is not JSON"),
        ("[".repeat(100_000), "The body is not JSON"),
        ("7".to_owned(), "not a JSON object"),
        ("null".to_owned(), "not a JSON object"),
        (
            json!([{"query": "{taps}"}]).to_string(),
            "The body is a list",
        ),
        ("[]".to_owned(), "The body is a list"),
        ("{}".to_owned(), "query is missing"),
        (json!({"query": null}).to_string(), "query is missing"),
        (json!({"query": " "}).to_string(), "query is empty"),
        (json!({"query": 5}).to_string(), "query is not a text"),
        (
            json!({"query": "{taps}", "variables": []}).to_string(),
            "variables is not an object",
        ),
        (
            json!({"query": "{taps}", "variables": "{}"}).to_string(),
            "variables is not an object",
        ),
        (
            json!({"query": "{taps}", "extensions": []}).to_string(),
            "extensions is not an object",
        ),
        (
            json!({"query": "{taps}", "operationName": 1}).to_string(),
            "operationName is not a text",
        ),
        (
            json!({"query": "{taps}", "operationName": "A"}).to_string(),
            "no operation of this",
        ),
        (
            json!({"query": "query A{taps} query B{taps}"}).to_string(),
            "several operations",
        ),
        (
            json!({"query": "subscription{taps}"}).to_string(),
            "Subscriptions are answered with text/event-stream",
        ),
        (
            json!({"query": "{taps"}).to_string(),
            "The query cannot be read: expected",
        ),
    ] {
        let answer = api.post(&body).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{body:.50}");
        assert_eq!(answer.code(), "BAD_USER_INPUT");
        assert!(
            answer.text.contains(wrong),
            "{wrong} is not in {}",
            answer.text
        );
        assert!(answer.json().get("data").is_none());
        assert!(answer.text.len() < 1000);
    }
    for (address, wrong) in [
        ("/graphql", "query is missing"),
        (
            "/graphql?query=%7Btaps%7D&query=%7Btaps%7D",
            "query is given twice",
        ),
        (
            "/graphql?query=%7Btaps%7D&variables=x",
            "variables is not JSON",
        ),
        (
            "/graphql?query=%7Btaps%7D&extensions=7",
            "extensions is not an object",
        ),
        (
            "/graphql?query=%7Btaps%7D&variables=[]",
            "variables is not an object",
        ),
    ] {
        let answer = api.get(address, &[]).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{address}");
        assert!(
            answer.text.contains(wrong),
            "{wrong} is not in {}",
            answer.text
        );
    }
}

#[tokio::test]
async fn large_bodies_are_refused_with_and_without_a_length() {
    let api = Api::new().await;
    let large = json!({"query": format!("{{taps #{}\n}}", "a".repeat(300_000))}).to_string();
    let answer = api.post(&large).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(answer.code(), "BAD_USER_INPUT");
    let chunks = large.into_bytes();
    let chunks: Vec<Vec<u8>> = chunks.chunks(10_000).map(<[u8]>::to_vec).collect();
    let chunks = futures::stream::iter(chunks.into_iter().map(Ok::<_, std::io::Error>));
    let headers = [("content-type", "application/json")];
    let streamed = request("POST", "/graphql", &headers, Body::from_stream(chunks));
    assert_eq!(
        api.send(streamed).await.status,
        StatusCode::PAYLOAD_TOO_LARGE
    );
    assert_eq!(answer.limit(), "body");
    let unused = json!({"a": "a".repeat(250_000)});
    let fits = json!({"query": "{taps}", "variables": unused});
    assert_eq!(api.post(fits).await.status, StatusCode::OK);
    let long = json!({"query": format!("{{taps #{}\n}}", "a".repeat(33_000))});
    assert_eq!(api.post(long).await.limit(), "document");
}

#[tokio::test]
async fn refused_documents_have_a_status_of_their_own_and_no_data() {
    let api = Api::new().await;
    let many = "unknown ".repeat(400);
    for query in [
        "{ unknown }".to_owned(),
        "{ slow }".to_owned(),
        "{ slow(milliseconds: true) }".to_owned(),
        format!("{{ {many} }}"),
        format!(
            "{{ slow(milliseconds: {}1{}) }}",
            "[".repeat(60_000),
            "]".repeat(60_000)
        ),
    ] {
        let answer = api.post(json!({ "query": query })).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{query:.50}");
        let body = answer.json();
        assert!(body.get("data").is_none());
        assert!(body["errors"].as_array().unwrap().len() <= 20);
    }
    for variables in [
        json!({}),
        json!({"m": null}),
        json!({"m": "x"}),
        json!({"m": 1.5}),
    ] {
        let query = "mutation A($m: Int!) { tap at(least: $m) }";
        let answer = api
            .post(json!({"query": query, "variables": variables}))
            .await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{variables}");
    }
    assert_eq!(
        api.taps().await,
        0,
        "a part of a refused document was executed"
    );
    // What was executed and failed is 200, with null for data.
    let failed = api.post(json!({"query": "{ fail }"})).await;
    assert_eq!(
        (failed.status, &failed.json()["data"]),
        (StatusCode::OK, &Value::Null)
    );
    assert!(failed.text.contains(r#""data":null"#));
}

/// Clients that know nothing but `application/json` take any other status for a proxy's.
#[tokio::test]
async fn plain_json_has_status_200_where_only_the_document_is_wrong() {
    let api = Api::new().await;
    let headers = [("content-type", "application/json")];
    for (body, status) in [
        (json!({"query": "{ unknown }"}), StatusCode::OK),
        (json!({"query": "{ taps"}), StatusCode::OK),
        (
            json!({"query": "query($m: Int!) { slow(milliseconds: $m) }"}),
            StatusCode::OK,
        ),
        (json!({"query": 5}), StatusCode::BAD_REQUEST),
        (
            json!({"query": "{taps}", "variables": 5}),
            StatusCode::BAD_REQUEST,
        ),
    ] {
        let answer = api
            .send(request(
                "POST",
                "/graphql",
                &headers,
                body.to_string().into(),
            ))
            .await;
        assert_eq!(answer.status, status, "{body}");
        assert!(answer.json().get("data").is_none());
    }
}
