//! Serves one connection. axum's own server has no timer, and so waits for ever for whoever sends slowly.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tower::Service as _;

use super::slots::Slot;
use super::stream::Patient;
use crate::config::Connections;

/// The head of a request: a query by GET with its variables, and a token, fit.
const HEAD_BYTES: usize = 64 * 1024;
/// Requests of one HTTP/2 connection at once; browsers and phones stay far below.
const STREAMS: u32 = 64;
/// Whether the other end of a silent HTTP/2 connection is still there.
const PING: Duration = Duration::from_secs(20);
/// How long it may take to answer that.
const PONG: Duration = Duration::from_secs(10);

/// How long slow clients are waited for, and how much they may send.
pub(super) struct Patience {
    builder: auto::Builder<TokioExecutor>,
    header_timeout: Duration,
    send_timeout: Duration,
}

impl Patience {
    pub(super) fn new(limits: &Connections) -> Self {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header_timeout)
            .max_buf_size(HEAD_BYTES);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(u32::try_from(HEAD_BYTES).unwrap_or(u32::MAX))
            .keep_alive_interval(PING)
            .keep_alive_timeout(PONG);
        Self {
            builder,
            header_timeout: limits.header_timeout,
            send_timeout: limits.send_timeout,
        }
    }
}

/// Serves a connection until it ends; once `stop` is cancelled, only what is under way.
pub(super) async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    routes: Router,
    patience: &Patience,
    stop: CancellationToken,
    slot: Slot,
) {
    // Answers are small and complete: waiting to fill a packet would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection stays slow");
    }
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        let mut routes = routes.clone();
        async move { Ok::<_, Infallible>(unwrapped(routes.call(request.map(Body::new)).await)) }
    });
    let io = TokioIo::new(Patient::new(
        stream,
        patience.header_timeout,
        patience.send_timeout,
        slot,
    ));
    let connection = patience.builder.serve_connection_with_upgrades(io, service);
    let mut connection = std::pin::pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(error, "a connection broke off");
    }
}

fn unwrapped<T>(answer: Result<T, Infallible>) -> T {
    match answer {
        Ok(answer) => answer,
        Err(never) => match never {},
    }
}
