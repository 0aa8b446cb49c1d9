//! A client of event streams.

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::service::{Node, User};

/// An open stream.
pub struct Stream {
    response: Response,
    read: String,
}

/// An event's name and data.
pub type Event = (String, Value);

impl Stream {
    /// Posts an operation.
    pub async fn post(node: &Node, user: Option<&User>, query: &str, variables: Value) -> Self {
        let body = json!({ "query": query, "variables": variables });
        let request = reqwest::Client::new().post(node.url()).json(&body);
        let request = match user {
            Some(user) => request.bearer_auth(&user.token),
            None => request,
        };
        Self::of(
            request
                .header(ACCEPT, "text/event-stream")
                .send()
                .await
                .unwrap(),
        )
    }

    /// The stream of an answer that is one.
    pub fn of(response: Response) -> Self {
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[CONTENT_TYPE], "text/event-stream");
        Self {
            response,
            read: String::new(),
        }
    }

    /// Reads on; whether it ends in the middle rather than go on.
    pub async fn breaks_off(&mut self) -> bool {
        let read = async { while self.response.chunk().await.is_ok_and(|it| it.is_some()) {} };
        timeout(Duration::from_secs(10), read).await.is_ok()
    }

    /// The next event; None after the last.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.read.find("\n\n") {
                let event: String = self.read.drain(..end + 2).collect();
                // Whatever is no event is a sign of life.
                if let Some(event) = parsed(&event) {
                    return Some(event);
                }
                continue;
            }
            let chunk = self.response.chunk().await.expect("the stream broke off")?;
            self.read.push_str(str::from_utf8(&chunk).unwrap());
        }
    }

    /// The activity of the next change.
    pub async fn change(&mut self) -> Value {
        let (name, mut data) = self.next().await.unwrap();
        assert_eq!(name, "next");
        assert_eq!(data.get("errors"), None, "{data}");
        data["data"]["likesChanged"]["activity"].take()
    }
}

fn parsed(text: &str) -> Option<Event> {
    let field = |name: &str| {
        let mut lines = text.lines();
        lines.find_map(|line| Some(line.strip_prefix(name)?.trim_start().to_owned()))
    };
    let data = field("data:")?;
    let data = if data.is_empty() {
        Value::Null
    } else {
        serde_json::from_str(&data).unwrap()
    };
    Some((field("event:")?, data))
}
