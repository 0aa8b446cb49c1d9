//! Which sites' pages may use the API from a browser.

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderName, HeaderValue, Method};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

/// How long a browser remembers what it may send. Most go no higher than two hours.
const MAX_AGE: std::time::Duration = std::time::Duration::from_hours(1);

/// Answers preflights of these origins, and lets their pages read the answers. Cookies are not allowed along, as
/// nothing here looks at them; tokens come in a header that no browser sends by itself.
pub(super) fn cors(origins: &[String]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let values = origins
        .iter()
        .filter_map(|origin| origin.parse::<HeaderValue>().ok());
    let layer = CorsLayer::new()
        .allow_origin(AllowOrigin::list(values))
        .allow_methods([Method::GET, Method::POST])
        // Clients' libraries add headers of their own.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([HeaderName::from_static("x-request-id"), RETRY_AFTER])
        .max_age(MAX_AGE);
    Some(layer)
}
