//! WebSockets: GraphQL by the protocol `graphql-transport-ws`, for anything that goes on.
//!
//! mod          from a request to an open socket
//! message      what is said
//! session      one socket from its opening to its end
//! operations   what is under way on it
//! connection   sending, and ending in order

mod connection;
mod message;
mod operations;
mod session;

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{
    CONNECTION, HOST, ORIGIN, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use self::connection::Connection;
use self::session::Session;
use super::auth::Bearer;
use super::error::Failure;
use super::{Service, caller, graphql};

const PROTOCOL: &str = "graphql-transport-ws";
/// Sockets mostly wait, thousands of them: buffers begin small and grow with what needs them.
const BUFFER_BYTES: usize = 4 * 1024;

/// Whether a request wants to become a WebSocket.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    has_word(headers, &UPGRADE, "websocket")
}

/// Opens a WebSocket, or says why not.
pub(super) async fn open(service: Arc<Service>, mut request: Request) -> Response {
    let headers = request.headers();
    if !is_welcome(headers, &service.live.settings.origins) {
        return Failure::foreign_origin().into_response();
    }
    let Some(key) = headers.get(SEC_WEBSOCKET_KEY).cloned() else {
        return Failure::bad_input("Sec-WebSocket-Key is missing.").into_response();
    };
    if !has_word(headers, &SEC_WEBSOCKET_VERSION, "13")
        || !has_word(headers, &CONNECTION, "upgrade")
    {
        return Failure::bad_input("Only version 13 of WebSocket is spoken here.").into_response();
    }
    if !has_word(headers, &SEC_WEBSOCKET_PROTOCOL, PROTOCOL) {
        return Failure::bad_input("The subprotocol graphql-transport-ws is needed.")
            .into_response();
    }
    // What is no browser may send its token at once; a browser sends it with the first message.
    let bearer = match graphql::identify(&service, headers).await {
        Ok(bearer) => bearer,
        Err(failure) => return failure.into_response(),
    };
    let proxy = service.client_address_header.as_ref();
    let address = caller::address(headers, request.extensions(), proxy);
    let Some(upgrade) = request.extensions_mut().remove::<OnUpgrade>() else {
        return Failure::bad_input("WebSockets need HTTP/1.1.").into_response();
    };
    let sockets = service.live.sockets.clone();
    sockets.spawn(run(service, upgrade, bearer, address));
    let headers = [
        (CONNECTION, HeaderValue::from_static("upgrade")),
        (UPGRADE, HeaderValue::from_static("websocket")),
        (SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL)),
    ];
    let mut response = (StatusCode::SWITCHING_PROTOCOLS, headers, Body::empty()).into_response();
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()));
    if let Ok(accept) = accept {
        response.headers_mut().insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    response
}

async fn run(
    service: Arc<Service>,
    upgrade: OnUpgrade,
    bearer: Option<Bearer>,
    address: Option<IpAddr>,
) {
    let upgraded = match upgrade.await {
        Ok(upgraded) => TokioIo::new(upgraded),
        Err(error) => {
            tracing::debug!(%error, "a socket was not opened");
            return;
        }
    };
    let largest = service.live.settings.socket_message_bytes as usize;
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(0)
        .max_message_size(Some(largest))
        .max_frame_size(Some(largest));
    let socket = WebSocketStream::from_raw_socket(upgraded, Role::Server, Some(config)).await;
    let connection = Connection::new(socket, &service.live);
    Session::new(service, connection, bearer, address)
        .run()
        .await;
}

/// Whether a page may open sockets: one of the host that it connects to, or of a listed origin. Without this, any
/// page that somebody visits could use what the visitor's network can reach.
fn is_welcome(headers: &HeaderMap, listed: &[String]) -> bool {
    let mut origins = headers.get_all(ORIGIN).iter();
    let Some(origin) = origins.next() else {
        return true;
    };
    let (Ok(origin), None) = (origin.to_str(), origins.next()) else {
        return false;
    };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let same_host = origin.split_once("://").is_some_and(|(_, authority)| {
        host.is_some_and(|host| host.eq_ignore_ascii_case(authority))
    });
    same_host || listed.iter().any(|it| it.eq_ignore_ascii_case(origin))
}

/// Whether a header that holds a list has a word in it.
fn has_word(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).iter();
    let mut words = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    words.any(|it| it.trim().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_other_hosts_are_not_welcome() {
        let listed = ["https://app.example".to_owned()];
        for (origin, welcome) in [
            (None, true),
            (Some("https://likes.example"), true),
            (Some("http://LIKES.example"), true),
            (Some("https://app.example"), true),
            (Some("https://evil.example"), false),
            (Some("http://app.example"), false),
            (Some("https://likes.example.evil.example"), false),
            (Some("https://likes.example:8443"), false),
            (Some("null"), false),
            (Some(""), false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static("likes.example"));
            if let Some(origin) = origin {
                headers.insert(ORIGIN, HeaderValue::from_static(origin));
            }
            assert_eq!(is_welcome(&headers, &listed), welcome, "{origin:?}");
        }
    }
}
