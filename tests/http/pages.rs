//! Pages: `GraphiQL` always, the feed only where it is asked for.

use std::time::Duration;

use axum::http::StatusCode;
use likewise::http::DemoUser;
use serde_json::json;

use crate::Api;

const BROWSER: [(&str, &str); 1] = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];

#[tokio::test]
async fn a_browser_gets_graphiql_or_what_to_run_for_it() {
    let api = Api::new().await;
    let answer = api.get("/graphql", &BROWSER).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
    assert!(answer.text.contains("GraphiQL"));
    let is_complete = answer.text.contains("/assets/vendor/graphiql.min.js");
    assert!(is_complete || answer.text.contains("make graphiql"));
    let policy = answer.header("content-security-policy");
    assert!(policy.contains("script-src 'self';"), "{policy}");
    assert!(
        !answer.text.contains("<script>"),
        "the policy allows no inline scripts"
    );
}

#[tokio::test]
async fn files_of_pages_are_kept_by_browsers_until_they_change() {
    let api = Api::new().await;
    for (path, content_type) in [
        ("/assets/feed/feed.js", "text/javascript; charset=utf-8"),
        ("/assets/feed/feed.css", "text/css; charset=utf-8"),
        ("/assets/feed/icon.svg", "image/svg+xml"),
    ] {
        let answer = api.get(path, &[]).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        assert_eq!(answer.header("content-type"), content_type);
        assert_eq!(answer.header("cache-control"), "no-cache");
        let etag = answer.header("etag").to_owned();
        let known = [("if-none-match", etag.as_str())];
        let again = api.get(path, &known).await;
        assert_eq!(
            (again.status, again.text.len()),
            (StatusCode::NOT_MODIFIED, 0)
        );
        let weak = format!("\"other\", W/{etag}");
        let again = api.get(path, &[("if-none-match", &weak)]).await;
        assert_eq!(again.status, StatusCode::NOT_MODIFIED);
    }
    for path in [
        "/assets/package.json",
        "/assets/feed/..%2fpackage.json",
        "/assets/feed/../../Cargo.toml",
        "/assets/%2e%2e/Cargo.toml",
        "/assets/feed/nothing.js",
    ] {
        assert_eq!(
            api.get(path, &[]).await.status,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
}

#[tokio::test]
async fn the_feed_page_and_its_users_are_for_development() {
    let users = vec![DemoUser {
        name: "Ada".to_owned(),
        token: "a.b.c".to_owned(),
    }];
    let api = Api::with(Duration::from_secs(5), Some(users)).await;
    let page = api.get("/", &BROWSER).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(
        page.header("content-security-policy")
            .contains("script-src 'self'")
    );
    let users = api.get("/dev/users", &[]).await;
    assert_eq!(users.json(), json!([{"name": "Ada", "token": "a.b.c"}]));
    assert_eq!(users.header("cache-control"), "no-store");
}
