//! A connection's bytes, with an end to waiting for the first ones and for those that nobody takes.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::slots::Slot;

/// How HTTP/2 begins. Until these are here, or others, nobody knows which of the two is spoken; hyper waits for
/// them for ever.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection that does not wait for ever. It goes on when the protocol changes, and keeps its slot until then.
pub(super) struct Patient {
    stream: TcpStream,
    opening: Option<Pin<Box<Sleep>>>,
    stalled: Option<Pin<Box<Sleep>>>,
    sending: Duration,
    seen: usize,
    _slot: Slot,
}

impl Patient {
    /// The first bytes have to come within `opening`; what is sent has to be taken on within `sending`.
    pub(super) fn new(stream: TcpStream, opening: Duration, sending: Duration, slot: Slot) -> Self {
        Self {
            stream,
            opening: Some(Box::pin(sleep(opening))),
            stalled: None,
            sending,
            seen: 0,
            _slot: slot,
        }
    }

    /// Ends the wait for the first bytes once they tell the protocol.
    fn note(&mut self, bytes: &[u8]) {
        let expected = &PREFACE[self.seen.min(PREFACE.len())..];
        self.seen += bytes.len();
        if !expected.starts_with(bytes) || self.seen >= PREFACE.len() {
            self.opening = None;
        }
    }

    /// Turns a wait that has no end into an error.
    fn not_for_ever<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let sending = self.sending;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(sending)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if self.opening.is_some() && read.is_ready() {
            self.note(&buffer.filled()[before..]);
        }
        if let Some(opening) = &mut self.opening
            && opening.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.not_for_ever(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.not_for_ever(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
