//! Clients that are slow, silent or many: others do not notice them.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use likewise::config::Connections;
use likewise::http::{bind, serve};
use likewise::shutdown::Shutdown;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use crate::Api;

/// Longer than any of these tests is patient with a server.
const LONG: Duration = Duration::from_secs(10);

async fn listen(limits: Connections) -> (SocketAddr, Shutdown) {
    let api = Api::new().await;
    let any = "127.0.0.1:0".parse().unwrap();
    let listener = bind("LIKEWISE_LISTEN", any).await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = Shutdown::new(Duration::from_secs(2));
    let server = serve(listener, api.routes.clone(), limits, shutdown.clone());
    shutdown.spawn("API", server);
    (address, shutdown)
}

fn impatient() -> Connections {
    Connections {
        header_timeout: Duration::from_millis(300),
        ..Connections::default()
    }
}

async fn connect(address: SocketAddr, sent: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(sent).await.unwrap();
    stream
}

/// What comes until the server closes; it has to.
async fn rest(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let read = timeout(LONG, stream.read_to_end(&mut text)).await;
    let read = read.unwrap_or_else(|_| panic!("a connection stays open for ever"));
    // A reset is an end too.
    drop(read);
    String::from_utf8_lossy(&text).into_owned()
}

#[tokio::test]
async fn whoever_sends_no_request_is_not_waited_for() {
    let (address, _shutdown) = listen(impatient()).await;
    for sent in [
        &b""[..],
        b"P",
        b"PRI * HT",
        b"GET /livez HTTP/1.1\r\nhost: a\r\n",
        b"GET /livez HTTP/1.1\r\nhost: a\r\nx-a: ",
    ] {
        let start = Instant::now();
        let answer = rest(&mut connect(address, sent).await).await;
        assert!(start.elapsed() < LONG / 2, "{sent:?}");
        assert!(!answer.contains("200 OK"), "{answer}");
    }
}

#[tokio::test]
async fn a_head_that_comes_drop_by_drop_is_not_waited_for() {
    let (address, _shutdown) = listen(impatient()).await;
    let mut stream = connect(address, b"GET /livez HTTP/1.1\r\n").await;
    let start = Instant::now();
    while stream.write_all(b"x-a: b\r\n").await.is_ok() {
        sleep(Duration::from_millis(50)).await;
        assert!(start.elapsed() < LONG, "a slow client is waited for");
    }
}

#[tokio::test]
async fn whoever_takes_no_answers_is_given_up() {
    let limits = Connections {
        send_timeout: Duration::from_millis(300),
        ..Connections::default()
    };
    let (address, _shutdown) = listen(limits).await;
    // One request after the other, and not one answer read, until no buffer on the way has room.
    let request = "GET /graphql?query={taps} HTTP/1.1\r\nhost: a\r\n\r\n".repeat(1000);
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let ended = timeout(LONG, async {
        while stream.write_all(request.as_bytes()).await.is_ok() {}
    });
    ended
        .await
        .expect("a client that takes nothing is waited for");
}

#[tokio::test]
async fn many_slow_clients_do_not_hurt_others() {
    let (address, _shutdown) = listen(Connections::default()).await;
    let mut slow = Vec::new();
    for i in 0..300 {
        let sent: &[u8] = match i % 3 {
            0 => b"",
            1 => b"POST /graphql HTTP/1.1\r\nhost: a\r\n",
            _ => b"POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{",
        };
        slow.push(connect(address, sent).await);
    }
    let start = Instant::now();
    for _ in 0..20 {
        let request = b"GET /graphql?query={taps} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
        let answer = rest(&mut connect(address, request).await).await;
        assert!(answer.ends_with(r#"{"data":{"taps":0}}"#), "{answer}");
    }
    assert!(start.elapsed() < LONG / 2, "{:?}", start.elapsed());
}

#[tokio::test]
async fn there_is_room_for_so_many_connections_and_then_again() {
    let limits = Connections {
        max_connections: 2,
        ..Connections::default()
    };
    let (address, _shutdown) = listen(limits).await;
    let first = connect(address, b"").await;
    let _second = connect(address, b"").await;
    sleep(Duration::from_millis(200)).await;
    let refused = rest(&mut connect(address, b"").await).await;
    assert!(
        refused.starts_with("HTTP/1.1 503 ") && refused.contains("retry-after: "),
        "{refused}"
    );
    drop(first);
    sleep(Duration::from_millis(200)).await;
    let request = b"GET /livez HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let answer = rest(&mut connect(address, request).await).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn http2_is_spoken_to_those_who_begin_with_it() {
    let (address, shutdown) = listen(Connections::default()).await;
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let client = reqwest::Client::builder().http2_prior_knowledge();
    let client = client.build().unwrap();
    let url = format!("http://{address}/graphql?query={{taps}}");
    for _ in 0..3 {
        let answer = client.get(&url).send().await.unwrap();
        assert_eq!(answer.version(), reqwest::Version::HTTP_2);
        assert_eq!(answer.text().await.unwrap(), r#"{"data":{"taps":0}}"#);
    }
    shutdown.begin();
    shutdown.finish().await.unwrap();
}

#[tokio::test]
async fn a_refusal_reaches_whoever_still_sends() {
    let (address, _shutdown) = listen(Connections::default()).await;
    for (header, status) in [
        ("content-type: application/json", "413"),
        ("content-type: text/plain", "415"),
        ("authorization: Bearer nonsense", "401"),
    ] {
        for large in [300_000, 3_000_000] {
            let head = format!(
                "POST /graphql HTTP/1.1\r\nhost: a\r\n{header}\r\ncontent-length: {large}\r\n\r\n"
            );
            let mut stream = connect(address, head.as_bytes()).await;
            // Slower than the answer could come.
            for part in vec![b' '; large].chunks(large / 4) {
                stream.write_all(part).await.unwrap();
                sleep(Duration::from_millis(50)).await;
            }
            stream
                .write_all(b"GET /livez HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
                .await
                .unwrap();
            let mut text = String::new();
            let read = timeout(LONG, stream.read_to_string(&mut text)).await;
            // The connection is good for the next request, too.
            assert!(read.unwrap().is_ok(), "{header}, {large}: {text}");
            assert!(
                text.starts_with(&format!("HTTP/1.1 {status} ")),
                "{header}, {large}: {text}"
            );
            assert!(text.contains("HTTP/1.1 200 "), "{header}, {large}: {text}");
        }
    }
    // Who sends without end is not read without end.
    let head = b"POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 1000000000\r\n\r\n";
    let mut stream = connect(address, head).await;
    let ended = timeout(LONG, async {
        while stream.write_all(&[b' '; 10_000]).await.is_ok() {}
    });
    ended.await.expect("a body is read for ever");
}
