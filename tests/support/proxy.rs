//! A wire between the program and a server: it can be held, cut or lose its answers, and counts statements.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use url::Url;

/// What a wire does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Lets everything through.
    Open,
    /// Keeps connections and holds back every byte, in both directions.
    Held,
    /// Breaks every connection, and each new one at once.
    Cut,
    /// Lets requests through and swallows the answers, also of new connections.
    Mute,
}

/// What happens to bytes, and which connections are different. They are numbered as they come.
#[derive(Debug, Clone, Copy)]
struct State {
    mode: Mode,
    /// Those before this one never see another byte.
    stalled: u64,
    /// Those before this one have broken.
    broken: u64,
}

/// Forwards connections for as long as its runtime lives.
pub struct Proxy {
    port: u16,
    state: watch::Sender<State>,
    statements: Arc<AtomicU64>,
    opened: Arc<AtomicU64>,
}

impl Proxy {
    /// One before the Postgres or Redis of an address.
    pub async fn before(address: &str) -> Self {
        Self::to(Url::parse(address).unwrap().port().unwrap()).await
    }

    /// One before the server at a port of this machine.
    pub async fn to(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (state, watched) = watch::channel(State {
            mode: Mode::Open,
            stalled: 0,
            broken: 0,
        });
        let (statements, opened) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let (counter, opening) = (Arc::clone(&statements), Arc::clone(&opened));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let number = opening.fetch_add(1, Ordering::SeqCst);
                let (watched, counter) = (watched.clone(), Arc::clone(&counter));
                tokio::spawn(carry(number, client, server, watched, counter));
            }
        });
        Self {
            port,
            state,
            statements,
            opened,
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The same address, through here.
    pub fn address(&self, address: &str) -> String {
        let mut url = Url::parse(address).unwrap();
        url.set_port(Some(self.port)).unwrap();
        if url.scheme() == "postgres" {
            // What is encrypted cannot be counted.
            url.set_query(Some("sslmode=disable"));
        }
        url.into()
    }

    pub fn set(&self, mode: Mode) {
        self.state.send_modify(|state| state.mode = mode);
    }

    /// Lets everything flow again. Connections that may have lost answers are of no use any more and break.
    pub fn mend(&self) {
        let opened = self.opened.load(Ordering::SeqCst);
        self.state.send_modify(|state| {
            if state.mode == Mode::Mute {
                state.broken = opened;
            }
            state.mode = Mode::Open;
        });
    }

    /// Lets the connections of now never say anything again, as those behind a broken router.
    pub fn stall(&self) {
        let opened = self.opened.load(Ordering::SeqCst);
        self.state.send_modify(|state| state.stalled = opened);
    }

    /// How many statements of Postgres have come by so far, `BEGIN` and the like not counted.
    pub fn statements(&self) -> u64 {
        self.statements.load(Ordering::SeqCst)
    }
}

async fn carry(
    number: u64,
    client: TcpStream,
    server: u16,
    mut watched: watch::Receiver<State>,
    counter: Arc<AtomicU64>,
) {
    if watched.borrow().mode == Mode::Cut {
        return;
    }
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).await else {
        return;
    };
    for end in [&client, &server] {
        end.set_nodelay(true).ok();
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let mut messages = Messages::default();
    let requests = pump(
        number,
        from_client,
        to_server,
        watched.clone(),
        |_, bytes| {
            counter.fetch_add(messages.statements(bytes), Ordering::SeqCst);
            true
        },
    );
    let answers = pump(
        number,
        from_server,
        to_client,
        watched.clone(),
        |mode, _| mode != Mode::Mute,
    );
    // Dropped in the middle of whatever it does, a wire may well have let half a request through.
    tokio::select! {
        () = requests => {}
        () = answers => {}
        _ = watched.wait_for(|state| state.mode == Mode::Cut || number < state.broken) => {}
    }
}

/// Carries bytes in one direction until one end closes; swallows those that `passes` does not let through.
async fn pump(
    number: u64,
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut watched: watch::Receiver<State>,
    mut passes: impl FnMut(Mode, &[u8]) -> bool,
) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let flows = watched.wait_for(|state| state.mode != Mode::Held && number >= state.stalled);
        let Ok(mode) = flows.await.map(|state| state.mode) else {
            return;
        };
        let bytes = &buffer[..count];
        if passes(mode, bytes) && to.write_all(bytes).await.is_err() {
            return;
        }
    }
}

/// What a client of Postgres says: a start without a type, then messages with one.
#[derive(Default)]
struct Messages {
    started: bool,
    unread: Vec<u8>,
}

impl Messages {
    /// How many of the messages that end in these bytes execute a statement that is no `BEGIN` or the like:
    /// sqlx sends those as simple queries.
    fn statements(&mut self, bytes: &[u8]) -> u64 {
        self.unread.extend_from_slice(bytes);
        let mut count = 0;
        loop {
            let head = usize::from(self.started);
            let Some(length) = self.unread.get(head..head + 4) else {
                return count;
            };
            let length = u32::from_be_bytes(length.try_into().unwrap());
            let end = head + usize::try_from(length).unwrap();
            if self.unread.len() < end {
                return count;
            }
            count += u64::from(self.started && self.unread[0] == b'E');
            self.started = true;
            self.unread.drain(..end);
        }
    }
}
