//! The socket itself: sending with patience, and ending in order.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncReadExt;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_util::sync::CancellationToken;

use crate::http::Live;

/// Of what a client still sends when it should have stopped, so much is read off and thrown away: closing
/// before would make its network forget the reason that it was just told.
const MOST_LEFTOVERS: usize = 8 * 1024 * 1024;

/// How a socket ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// With a code and a reason for the client.
    Close(u16, &'static str),
    /// In the middle of a message that is too long.
    TooLong,
    /// The client closes it.
    Closed,
    /// The client is gone.
    Gone,
}

/// A socket.
pub(super) struct Connection {
    socket: WebSocketStream<TokioIo<Upgraded>>,
    stop: CancellationToken,
    /// How long a client may leave the socket full.
    stalled: Duration,
    /// How long the end may take.
    patience: Duration,
}

impl Connection {
    pub(super) fn new(socket: WebSocketStream<TokioIo<Upgraded>>, live: &Live) -> Self {
        Self {
            socket,
            stop: live.stop.clone(),
            stalled: live.settings.socket_ping * 2,
            patience: live.patience,
        }
    }

    /// The next message.
    pub(super) async fn receive(&mut self) -> Result<Message, End> {
        match self.socket.next().await {
            Some(Ok(Message::Close(_))) | None => Err(End::Closed),
            Some(Ok(message)) => Ok(message),
            Some(Err(Error::Capacity(_))) => Err(End::TooLong),
            Some(Err(Error::Utf8(_))) => Err(End::Close(1007, "Not UTF-8")),
            Some(Err(Error::Protocol(_))) => Err(End::Close(1002, "Not a WebSocket message")),
            Some(Err(_)) => Err(End::Gone),
        }
    }

    /// Sends a message. A client that takes nothing for too long is given up, at the process' end sooner.
    pub(super) async fn send(&mut self, message: Message) -> Result<(), End> {
        let (stop, patience) = (&self.stop, self.patience);
        let ending = async {
            stop.cancelled().await;
            sleep(patience).await;
        };
        tokio::select! {
            sent = self.socket.send(message) => sent.map_err(|_| End::Gone),
            () = sleep(self.stalled) => Err(End::Gone),
            () = ending => Err(End::Gone),
        }
    }

    /// Ends it: tells why, and waits a moment for the client to hear it.
    pub(super) async fn end(mut self, end: End) {
        let reason = match end {
            End::Close(code, reason) => Some((code, reason)),
            End::TooLong => Some((1009, "The message is too long")),
            End::Closed => None,
            End::Gone => return,
        };
        let frame = reason.map(|(code, reason)| CloseFrame {
            code: code.into(),
            reason: reason.into(),
        });
        let patience = self.patience;
        let leave = async {
            if frame.is_some() {
                self.socket.close(frame).await?;
            }
            if end == End::TooLong {
                self.read_off().await?;
            } else {
                // This also sends the answer to a client's own farewell.
                while self.socket.next().await.is_some_and(|it| it.is_ok()) {}
            }
            Ok::<_, Error>(())
        };
        // Whether it went well matters to nobody any more.
        drop(timeout(patience, leave).await);
    }

    /// Reads past a message that will not be looked at.
    async fn read_off(&mut self) -> Result<(), Error> {
        let mut buffer = [0; 4096];
        let mut left = MOST_LEFTOVERS;
        while left > 0 {
            match self.socket.get_mut().read(&mut buffer).await? {
                0 => break,
                read => left = left.saturating_sub(read),
            }
        }
        Ok(())
    }
}
