//! A wire between the program and a server that can be held or cut, and that counts statements.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use url::Url;

/// What happens to bytes, and which connections never see another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wire {
    state: State,
    /// Those with a lower number.
    stalled: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// They flow.
    Whole,
    /// They wait.
    Held,
    /// Connections break, and new ones too.
    Cut,
}

/// Forwards connections for as long as the test's runtime lives.
pub struct Proxy {
    port: u16,
    wire: watch::Sender<Wire>,
    statements: Arc<AtomicU64>,
    opened: Arc<AtomicU64>,
}

impl Proxy {
    /// One before the Postgres or Redis of an address.
    pub async fn before(address: &str) -> Self {
        let server = Url::parse(address).unwrap().port().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let wire = watch::Sender::new(Wire {
            state: State::Whole,
            stalled: 0,
        });
        let statements = Arc::new(AtomicU64::new(0));
        let opened = Arc::new(AtomicU64::new(0));
        let (watched, counter) = (wire.subscribe(), Arc::clone(&statements));
        let opening = Arc::clone(&opened);
        tokio::spawn(async move {
            for number in 0.. {
                let Ok((client, _)) = listener.accept().await else {
                    return;
                };
                opening.store(number + 1, Ordering::SeqCst);
                let (watched, counter) = (watched.clone(), Arc::clone(&counter));
                tokio::spawn(async move {
                    let server = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
                    forward(number, client, server, watched, &counter).await;
                });
            }
        });
        Self {
            port,
            wire,
            statements,
            opened,
        }
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

    /// Lets everything wait.
    pub fn hold(&self) {
        self.wire.send_modify(|wire| wire.state = State::Held);
    }

    /// Breaks everything.
    pub fn cut(&self) {
        self.wire.send_modify(|wire| wire.state = State::Cut);
    }

    /// Lets everything flow.
    pub fn mend(&self) {
        self.wire.send_modify(|wire| wire.state = State::Whole);
    }

    /// Lets the connections of now never say anything again, as those behind a broken router.
    pub fn stall(&self) {
        let opened = self.opened.load(Ordering::SeqCst);
        self.wire.send_modify(|wire| wire.stalled = opened);
    }

    /// How many statements of Postgres have come by so far, `BEGIN` and the like not counted.
    pub fn statements(&self) -> u64 {
        self.statements.load(Ordering::SeqCst)
    }
}

async fn forward(
    number: u64,
    mut client: TcpStream,
    mut server: TcpStream,
    watched: watch::Receiver<Wire>,
    counter: &AtomicU64,
) {
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let mut messages = Messages::default();
    let mut cut = watched.clone();
    tokio::select! {
        () = pump(number, from_client, to_server, watched.clone(), |bytes| {
            counter.fetch_add(messages.statements(bytes), Ordering::SeqCst);
        }) => {}
        () = pump(number, from_server, to_client, watched, |_| {}) => {}
        _ = cut.wait_for(|wire| wire.state == State::Cut) => {}
    }
}

async fn pump(
    number: u64,
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut watched: watch::Receiver<Wire>,
    mut see: impl FnMut(&[u8]),
) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if watched
            .wait_for(|wire| wire.state == State::Whole && number >= wire.stalled)
            .await
            .is_err()
        {
            return;
        }
        see(&buffer[..count]);
        if to.write_all(&buffer[..count]).await.is_err() {
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
