//! The wires between the processes and the two databases: each can be cut, stalled, or lose its answers.

use std::net::Ipv4Addr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What a wire does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Lets everything through.
    Open,
    /// Breaks every connection, and each new one at once.
    Cut,
    /// Keeps connections and holds back every byte, in both directions.
    Stalled,
    /// Lets requests through and swallows the answers, also of new connections.
    Mute,
}

/// One wire: a port of its own for one process, in front of one server.
pub struct Wire {
    port: u16,
    mode: watch::Sender<Mode>,
}

impl Wire {
    /// Starts to listen on a free port; connections go on to `target`.
    pub async fn start(target: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (mode, watched) = watch::channel(Mode::Open);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, target, watched.clone()));
            }
        });
        Self { port, mode }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }

    /// Ends a fault. Connections that have lost answers are of no use any more and are cut.
    pub fn mend(&self) {
        if *self.mode.borrow() == Mode::Mute {
            self.set(Mode::Cut);
        }
        self.set(Mode::Open);
    }
}

async fn carry(client: TcpStream, target: u16, mut mode: watch::Receiver<Mode>) {
    if *mode.borrow() == Mode::Cut {
        return;
    }
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, target)).await else {
        return;
    };
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let requests = pump(from_client, to_server, mode.clone(), false);
    let answers = pump(from_server, to_client, mode.clone(), true);
    // Dropped in the middle of whatever it does, a wire may well have let half a request through.
    tokio::select! {
        () = requests => {}
        () = answers => {}
        _ = mode.wait_for(|mode| *mode == Mode::Cut) => {}
    }
}

/// Carries bytes in one direction until one end closes, or until what it carries has lost its use.
async fn pump(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    mut mode: watch::Receiver<Mode>,
    answers: bool,
) {
    let mut buffer = vec![0; 16 * 1024];
    let mut has_lost = false;
    loop {
        let Ok(length @ 1..) = from.read(&mut buffer).await else {
            return;
        };
        let passed = mode.wait_for(|mode| *mode != Mode::Stalled).await;
        let Ok(now) = passed.map(|mode| *mode) else {
            return;
        };
        has_lost |= answers && now == Mode::Mute;
        if has_lost && now != Mode::Mute {
            return;
        }
        if !has_lost && to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
