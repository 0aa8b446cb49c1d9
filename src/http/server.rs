//! Listens, and stops listening without breaking off what has begun.

use std::io;
use std::net::SocketAddr;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;

use crate::shutdown::Shutdown;

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

/// Serves until the end begins, then takes no more and finishes the requests under way. What is not
/// finished when nine tenths of the grace have passed is cut off, so that the process ends in order.
///
/// # Errors
/// The listener failed.
pub async fn serve(listener: TcpListener, routes: Router, shutdown: Shutdown) -> io::Result<()> {
    let stop = shutdown.token();
    let last_moment = shutdown.grace() * 9 / 10;
    // Answers are small and complete: waiting to fill a packet would only delay them.
    let listener = listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "a connection stays slow");
        }
    });
    let server =
        axum::serve(listener, routes).with_graceful_shutdown(stop.clone().cancelled_owned());
    tokio::select! {
        result = server.into_future() => result,
        () = async { stop.cancelled().await; tokio::time::sleep(last_moment).await } => {
            tracing::warn!("connections that did not finish were cut off");
            Ok(())
        }
    }
}
