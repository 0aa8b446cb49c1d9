//! A client of the protocol `graphql-transport-ws`, which does only what the test says.

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::service::{Node, User};

/// Longer than anything takes on a busy machine, and shorter than anybody's patience.
const PATIENCE: Duration = Duration::from_mins(1);

/// What is watched in most tests.
pub const WATCH: &str = "subscription($ids: [ID!]!) { likesChanged(activityIds: $ids) {
    activity { id likeCount isLiked likesChangedAt } } }";

/// A socket at the client's end.
pub struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    /// Opens a socket and says nothing.
    pub async fn open(node: &Node) -> Self {
        let headers = [("sec-websocket-protocol", "graphql-transport-ws")];
        Self::open_with(node, &headers).await.unwrap()
    }

    /// Opens a socket with headers; the status where that is refused.
    pub async fn open_with(
        node: &Node,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, StatusCode> {
        let mut request = format!("ws://{}/graphql", node.api)
            .into_client_request()
            .unwrap();
        for (name, value) in headers {
            let value = HeaderValue::from_str(value).unwrap();
            request.headers_mut().insert(*name, value);
        }
        match connect_async(request).await {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(Error::Http(response)) => Err(response.status()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Opens a socket and introduces a user.
    pub async fn of(node: &Node, user: Option<&User>) -> Self {
        let mut socket = Self::open(node).await;
        let payload = user.map(|user| json!({ "Authorization": format!("Bearer {}", user.token) }));
        socket
            .say(json!({ "type": "connection_init", "payload": payload }))
            .await;
        assert_eq!(socket.hear().await, json!({ "type": "connection_ack" }));
        socket
    }

    pub async fn say(&mut self, message: Value) {
        self.send(Message::text(message.to_string())).await;
    }

    pub async fn send(&mut self, message: Message) {
        self.0.send(message).await.unwrap();
    }

    /// Begins an operation.
    pub async fn begin(&mut self, id: &str, query: &str, variables: Value) {
        let payload = json!({ "query": query, "variables": variables });
        self.say(json!({ "type": "subscribe", "id": id, "payload": payload }))
            .await;
    }

    /// Watches activities; each one's first state has been received.
    pub async fn watch(&mut self, ids: &[&str]) -> Vec<Value> {
        self.begin("watch", WATCH, json!({ "ids": ids })).await;
        let mut first = Vec::new();
        for _ in ids {
            first.push(self.change().await);
        }
        first
    }

    /// The next text. Pings are answered on the way.
    pub async fn hear(&mut self) -> Value {
        match self.next().await {
            Some(Ok(Message::Text(text))) => serde_json::from_str(&text).unwrap(),
            other => panic!("no text but {other:?}"),
        }
    }

    /// The activity of the next change.
    pub async fn change(&mut self) -> Value {
        let mut message = self.hear().await;
        assert_eq!(message["type"], "next", "{message}");
        assert_eq!(message["payload"].get("errors"), None, "{message}");
        message["payload"]["data"]["likesChanged"]["activity"].take()
    }

    /// Changes until one has so many likes; all of them.
    pub async fn changes_until(&mut self, count: i64) -> Vec<Value> {
        let mut changes = Vec::new();
        loop {
            let change = self.change().await;
            let is_last = change["likeCount"] == count;
            changes.push(change);
            if is_last {
                return changes;
            }
        }
    }

    /// Whether nothing is said for so long.
    pub async fn is_silent_for(&mut self, time: Duration) -> bool {
        timeout(time, self.0.next()).await.is_err()
    }

    /// The code with which the server ends it; None if it just goes away.
    pub async fn closed(&mut self) -> Option<u16> {
        loop {
            match self.next().await {
                Some(Ok(Message::Close(frame))) => {
                    return frame.map(|CloseFrame { code, .. }| code.into());
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return None,
            }
        }
    }

    async fn next(&mut self) -> Option<Result<Message, Error>> {
        let next = async {
            loop {
                match self.0.next().await {
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    other => return other,
                }
            }
        };
        let next = timeout(PATIENCE, next).await;
        next.expect("the server says nothing")
    }
}
