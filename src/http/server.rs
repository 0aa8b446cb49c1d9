//! Listens, and stops listening without breaking off what has begun.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::{self, Patience};
use super::slots::Slots;
use crate::config::Connections;
use crate::shutdown::Shutdown;

/// Without file descriptors nothing can be accepted until others end.
const BREATHER: Duration = Duration::from_millis(500);
/// What a connection is told for which there is no room.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\nconnection: close\r\n\
                      content-length: 0\r\n\r\n";

/// An address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}, the address of {setting}")]
pub struct BindError {
    setting: &'static str,
    address: SocketAddr,
    #[source]
    source: io::Error,
}

/// Takes an address, which `setting` has named.
///
/// # Errors
/// It is taken, or not ours to take.
pub async fn bind(setting: &'static str, address: SocketAddr) -> Result<TcpListener, BindError> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|source| BindError {
        setting,
        address,
        source,
    })
}

/// Serves HTTP/1.1 and, to clients that begin with it, HTTP/2 until the end begins; then takes no more and
/// finishes the requests under way. What is not finished when nine tenths of the grace have passed is cut off, so
/// that the process ends in order.
///
/// # Errors
/// None yet; a listener that fails for a while is tried again.
pub async fn serve(
    listener: TcpListener,
    routes: Router,
    limits: Connections,
    shutdown: Shutdown,
) -> io::Result<()> {
    let stop = shutdown.token();
    let cut = CancellationToken::new();
    let slots = Slots::new(&limits);
    let patience = Arc::new(Patience::new(&limits));
    let connections = TaskTracker::new();
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                wait_after(&error).await;
                continue;
            }
        };
        let Some(slot) = slots.take(peer.ip()) else {
            refuse(stream);
            continue;
        };
        let (routes, patience) = (routes.clone(), Arc::clone(&patience));
        let (stop, cut) = (stop.clone(), cut.clone());
        connections.spawn(async move {
            let served = connection::serve(stream, peer, routes, &patience, stop, slot);
            cut.run_until_cancelled(served).await;
        });
    }
    drop(listener);
    connections.close();
    let last_moment = shutdown.grace() * 9 / 10;
    if tokio::time::timeout(last_moment, connections.wait())
        .await
        .is_err()
    {
        tracing::warn!(
            connections = connections.len(),
            "connections that did not finish were cut off"
        );
        cut.cancel();
    }
    Ok(())
}

/// A client that has gone before it was accepted is no reason to wait.
async fn wait_after(error: &io::Error) {
    let is_client = matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    );
    if !is_client {
        tracing::error!(
            error = error as &dyn std::error::Error,
            "no connection can be accepted"
        );
        tokio::time::sleep(BREATHER).await;
    }
}

/// Says that there is no room, without waiting for whoever it is said to.
fn refuse(mut stream: TcpStream) {
    tracing::debug!("a connection was refused: there are too many");
    // A new connection's buffer has room for this.
    if stream.try_write(FULL).is_ok() {
        tokio::spawn(async move {
            let _ = stream.shutdown().await;
            // Closing at once would take back what was said if the request is already here.
            tokio::time::sleep(BREATHER).await;
        });
    }
}
