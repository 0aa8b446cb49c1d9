//! Puts a running service under the load of many sockets that watch one activity while it is being liked, and says
//! what that costs:
//!
//! `LIKEWISE_JWT_SECRET=... cargo run --release --example live_load -- --clients 2000 --likes 1000 --pid $(pidof likewise)`
#![expect(clippy::unwrap_used, reason = "a measurement that fails is none")]
#![expect(
    clippy::cast_precision_loss,
    reason = "counts and times here are far below 2^52"
)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use clap::Parser;
use futures::future::join_all;
use futures::{SinkExt, StreamExt};
use likewise::config::Secret;
use likewise::http::auth::{Grant, sign};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async};

/// How many sockets are opened at once.
const OPENING: usize = 50;
/// How many likes may be under way at once.
const UNDER_WAY: usize = 100;
/// How long all sockets may take to show the last like.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Parser)]
struct Load {
    /// Where the service is
    #[arg(long, default_value = "127.0.0.1:8000")]
    address: SocketAddr,
    /// The secret that signs tokens
    #[arg(long, env = "LIKEWISE_JWT_SECRET", hide_env_values = true)]
    jwt_secret: Secret,
    /// How many sockets watch the activity, each of a user of its own
    #[arg(long, default_value_t = 2000)]
    clients: usize,
    /// How many likes and unlikes a second
    #[arg(long, default_value_t = 1000)]
    likes: u32,
    /// How many users like and unlike
    #[arg(long, default_value_t = 501)]
    likers: usize,
    /// How long
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// What is asked of the activity
    #[arg(long, default_value = "id likeCount isLiked likesChangedAt")]
    fields: String,
    /// Whether the sockets are those of nobody
    #[arg(long)]
    anonymous: bool,
    /// The service's process, to tell its memory and time
    #[arg(long)]
    pid: Option<u32>,
}

/// What one socket has received.
#[derive(Default)]
struct Seen {
    messages: AtomicU64,
    last: std::sync::Mutex<Option<Utf8Bytes>>,
}

#[tokio::main]
async fn main() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let load = Arc::new(Load::parse());
    let http = reqwest::Client::new();
    let author = load.token("load author");
    let create = "mutation { createActivity(input: { title: \"Load\" }) { activity { id } } }";
    let created = load.ask(&http, Some(&author), create).await;
    let id = created["createActivity"]["activity"]["id"].clone();

    load.report("before");
    let begun = Instant::now();
    let (done, stop) = watch::channel(false);
    let seen: Vec<Arc<Seen>> = (0..load.clients).map(|_| Arc::default()).collect();
    let permits = Arc::new(Semaphore::new(OPENING));
    let sockets = seen.iter().enumerate().map(|(number, seen)| {
        let (load, seen, stop) = (Arc::clone(&load), Arc::clone(seen), stop.clone());
        let (id, permits) = (id.clone(), Arc::clone(&permits));
        tokio::spawn(async move {
            let permit = permits.acquire().await.unwrap();
            let socket = load.open(number, &id).await;
            drop(permit);
            read(socket, seen, stop).await;
        })
    });
    let sockets: Vec<_> = sockets.collect();
    while seen
        .iter()
        .any(|seen| seen.messages.load(Ordering::Relaxed) == 0)
    {
        sleep(Duration::from_millis(20)).await;
    }
    println!("{} sockets opened in {:.1?}", load.clients, begun.elapsed());
    let likers = load.likers(&http).await;
    sleep(Duration::from_secs(2)).await;
    let quiet = load.report("idle");

    for seen in &seen {
        seen.messages.store(0, Ordering::Relaxed);
    }
    let begun = Instant::now();
    let mut took = load.like(&http, &likers, &id).await;
    let elapsed = begun.elapsed();
    let ended = Instant::now();
    let busy = load.report("under load");
    let query =
        format!("{{ node(id: {id}) {{ ... on Activity {{ likeCount likesChangedAt }} }} }}");
    let last = load.ask(&http, None, &query).await["node"].take();
    let shown = |seen: &Arc<Seen>| {
        let last = seen.last.lock().unwrap().clone().unwrap();
        let message: Value = serde_json::from_str(&last).unwrap();
        message["payload"]["data"]["likesChanged"]["activity"].clone()
    };
    let is_right = |seen: &Arc<Seen>| {
        let shown = shown(seen);
        shown["likesChangedAt"] == last["likesChangedAt"] && shown["likeCount"] == last["likeCount"]
    };
    let all_right = async {
        while !seen.iter().all(is_right) {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let settled = timeout(PATIENCE, all_right).await;
    let right = seen.iter().filter(|seen| is_right(seen)).count();
    println!(
        "{right} of {} sockets show {} likes, {:.0?} after the last like{}",
        load.clients,
        last["likeCount"],
        ended.elapsed(),
        if settled.is_ok() { "" } else { " (gave up)" },
    );

    took.sort_unstable();
    let at = |percent: usize| took[(took.len() - 1) * percent / 100];
    println!(
        "{} likes in {elapsed:.1?} ({:.0} a second), p50 {:.1?}, p99 {:.1?}, max {:.1?}",
        took.len(),
        took.len() as f64 / elapsed.as_secs_f64(),
        at(50),
        at(99),
        at(100),
    );
    let counts: Vec<u64> = seen
        .iter()
        .map(|it| it.messages.load(Ordering::Relaxed))
        .collect();
    let total: u64 = counts.iter().sum();
    println!(
        "{total} messages ({:.0} a second); of one socket {:.1} a second, {} at least, {} at most",
        total as f64 / elapsed.as_secs_f64(),
        total as f64 / elapsed.as_secs_f64() / counts.len() as f64,
        counts.iter().min().unwrap(),
        counts.iter().max().unwrap(),
    );
    if let (Some((_, before)), Some((_, after))) = (quiet, busy) {
        let cores = (after - before) / elapsed.as_secs_f64();
        println!("the service took {cores:.2} cores under load");
    }
    done.send_replace(true);
    join_all(sockets).await;
    sleep(Duration::from_secs(2)).await;
    load.report("after");
}

impl Load {
    fn token(&self, subject: &str) -> String {
        let grant = Grant {
            subject,
            name: Some(subject),
            picture: None,
            issuer: None,
            audience: None,
            issued_at: SystemTime::now(),
            ttl: Duration::from_hours(1),
        };
        sign(&self.jwt_secret, &grant).unwrap()
    }

    async fn ask(&self, http: &reqwest::Client, token: Option<&str>, query: &str) -> Value {
        let body = json!({ "query": query });
        let mut request = http
            .post(format!("http://{}/graphql", self.address))
            .json(&body);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let mut answer: Value = request.send().await.unwrap().json().await.unwrap();
        assert!(answer.get("errors").is_none(), "{query} {answer}");
        answer["data"].take()
    }

    async fn open(&self, number: usize, id: &Value) -> WebSocketStream<TcpStream> {
        let url = format!("ws://{}/graphql", self.address);
        let mut request = url.into_client_request().unwrap();
        let protocol = HeaderValue::from_static("graphql-transport-ws");
        request
            .headers_mut()
            .insert("sec-websocket-protocol", protocol);
        let stream = TcpStream::connect(self.address).await.unwrap();
        let (mut socket, _) = client_async(request, stream).await.unwrap();
        let token = format!("Bearer {}", self.token(&format!("load watcher {number}")));
        let payload = if self.anonymous {
            json!({})
        } else {
            json!({ "authorization": token })
        };
        let query = format!(
            "subscription {{ likesChanged(activityIds: [{id}]) {{ activity {{ {} }} }} }}",
            self.fields
        );
        for message in [
            json!({ "type": "connection_init", "payload": payload }),
            json!({ "type": "subscribe", "id": "1", "payload": { "query": query } }),
        ] {
            socket
                .send(Message::text(message.to_string()))
                .await
                .unwrap();
            if message["type"] == "connection_init" {
                socket.next().await.unwrap().unwrap();
            }
        }
        socket
    }

    /// The tokens of those who like. Each has been here before: making users is not what is measured.
    async fn likers(&self, http: &reqwest::Client) -> Vec<Arc<str>> {
        let mut tokens = Vec::with_capacity(self.likers);
        for number in 0..self.likers {
            let token = self.token(&format!("load liker {number}"));
            self.ask(http, Some(&token), "{ viewer { id } }").await;
            tokens.push(token.into());
        }
        tokens
    }

    /// Likes and unlikes at the rate that is asked for; how long each took.
    async fn like(&self, http: &reqwest::Client, tokens: &[Arc<str>], id: &Value) -> Vec<Duration> {
        let query = format!(
            "mutation {{ toggleLike(input: {{ activityId: {id} }}) {{ activity {{ likeCount }} }} }}"
        );
        let body = json!({ "query": query });
        let permits = Arc::new(Semaphore::new(UNDER_WAY));
        let mut pace = interval(Duration::from_secs(1) / self.likes);
        pace.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut likes = Vec::new();
        let begun = Instant::now();
        for token in tokens.iter().cycle() {
            pace.tick().await;
            if begun.elapsed() > Duration::from_secs(self.seconds) {
                break;
            }
            let permit = Arc::clone(&permits).acquire_owned().await.unwrap();
            let request = http.post(format!("http://{}/graphql", self.address));
            let request = request.bearer_auth(token).json(&body);
            likes.push(tokio::spawn(async move {
                let begun = Instant::now();
                let answer = request.send().await.unwrap().text().await.unwrap();
                drop(permit);
                assert!(!answer.contains("errors"), "{answer}");
                begun.elapsed()
            }));
        }
        let likes = join_all(likes).await;
        likes.into_iter().map(Result::unwrap).collect()
    }

    /// Memory in MiB and time in seconds of the service.
    fn report(&self, when: &str) -> Option<(f64, f64)> {
        let pid = self.pid?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let memory: f64 = line?.split_whitespace().nth(1)?.parse().ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        // User and system time, in hundredths.
        let ticks: f64 = fields[11].parse::<f64>().ok()? + fields[12].parse::<f64>().ok()?;
        let (memory, time) = (memory / 1024.0, ticks / 100.0);
        println!("{when}: {memory:.0} MiB, {time:.1} s of processor time");
        Some((memory, time))
    }
}

/// Keeps what came last.
async fn read(
    mut socket: WebSocketStream<TcpStream>,
    seen: Arc<Seen>,
    mut stop: watch::Receiver<bool>,
) {
    loop {
        let message = tokio::select! {
            message = socket.next() => message.unwrap().unwrap(),
            _ = stop.changed() => return,
        };
        if let Message::Text(text) = message {
            *seen.last.lock().unwrap() = Some(text);
            seen.messages.fetch_add(1, Ordering::Relaxed);
        }
    }
}
