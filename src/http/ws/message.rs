//! What is said over a socket, as <https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md> has it.

use async_graphql::ServerError;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::http::graphql::Rendered;

/// What a client says.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    /// The first message.
    Init(Map<String, Value>),
    /// Wants an answer.
    Ping,
    /// Needs none.
    Pong,
    /// Begins an operation.
    Subscribe {
        /// The client's name for it.
        id: String,
        /// The GraphQL request.
        request: Map<String, Value>,
    },
    /// Ends an operation.
    Complete {
        /// Which one.
        id: String,
    },
}

/// Reads a message; None if it is none.
pub(super) fn read(text: &str) -> Option<Incoming> {
    let Ok(Value::Object(mut message)) = serde_json::from_str(text) else {
        return None;
    };
    let kind = message.remove("type")?;
    let payload = message.remove("payload").unwrap_or_default();
    let payload = match payload {
        Value::Object(payload) => Some(payload),
        Value::Null => None,
        _ => return None,
    };
    Some(match kind.as_str()? {
        "connection_init" => Incoming::Init(payload.unwrap_or_default()),
        "ping" => Incoming::Ping,
        "pong" => Incoming::Pong,
        "subscribe" => Incoming::Subscribe {
            id: id(message)?,
            request: payload.filter(|it| it.get("query").is_none_or(Value::is_string))?,
        },
        "complete" => Incoming::Complete { id: id(message)? },
        _ => return None,
    })
}

fn id(mut message: Map<String, Value>) -> Option<String> {
    match message.remove("id")? {
        Value::String(id) if !id.is_empty() => Some(id),
        _ => None,
    }
}

/// The client is known.
pub(super) fn acknowledged() -> Message {
    Message::text(json!({ "type": "connection_ack" }).to_string())
}

/// Answers a ping.
pub(super) fn pong() -> Message {
    Message::text(json!({ "type": "pong" }).to_string())
}

/// A result.
pub(super) fn next(id: &str, payload: &Rendered) -> Message {
    text("next", id, Some(payload))
}

/// The operation was refused.
pub(super) fn error(id: &str, payload: &[ServerError]) -> Message {
    text("error", id, Some(payload))
}

/// The operation is over.
pub(super) fn complete(id: &str) -> Message {
    text::<()>("complete", id, None)
}

#[derive(Serialize)]
struct Outgoing<'a, P: Serialize + ?Sized> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a P>,
}

fn text<P: Serialize + ?Sized>(kind: &str, id: &str, payload: Option<&P>) -> Message {
    let message = Outgoing { id, kind, payload };
    // Texts and numbers only: there is nothing in it that JSON could not hold.
    Message::text(serde_json::to_string(&message).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_of_the_protocol_are_read() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"type":1}"#,
            r#"{"type":"start"}"#,
            r#"{"type":"connection_init","payload":"text"}"#,
            r#"{"type":"subscribe","payload":{"query":"{a}"}}"#,
            r#"{"type":"subscribe","id":"","payload":{"query":"{a}"}}"#,
            r#"{"type":"subscribe","id":1,"payload":{"query":"{a}"}}"#,
            r#"{"type":"subscribe","id":"1"}"#,
            r#"{"type":"subscribe","id":"1","payload":{"query":1}}"#,
            r#"{"type":"complete"}"#,
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        let init = read(r#"{"type":"connection_init"}"#);
        assert_eq!(init, Some(Incoming::Init(Map::new())));
        let complete = read(r#"{"type":"complete","id":"a","more":1}"#);
        assert_eq!(complete, Some(Incoming::Complete { id: "a".into() }));
    }
}
