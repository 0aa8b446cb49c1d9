//! One socket, from its opening to its end.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use metrics::{counter, gauge};
use serde_json::{Map, Value};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};
use tokio_tungstenite::tungstenite::{Bytes, Message};

use super::connection::{Connection, End};
use super::message::{self, Incoming};
use super::operations::Operations;
use crate::domain::Caller;
use crate::graphql::Code;
use crate::http::Service;
use crate::http::auth::{Bearer, Refusal};
use crate::http::error::Failure;
use crate::telemetry;

// The codes are the protocol's. Clients take 4403 as a reason to come back, with a fresh token.
const NO_INIT: End = End::Close(4408, "Connection initialisation timeout");
const BAD_MESSAGE: End = End::Close(4400, "Invalid message");
const NOT_KNOWN: End = End::Close(4401, "Unauthorized");
const BAD_TOKEN: End = End::Close(4403, "Forbidden");
const EXPIRED: End = End::Close(4403, "The token has expired");
const NO_KEYS: End = End::Close(1013, "Tokens cannot be verified right now");
const SECOND_INIT: End = End::Close(4429, "Too many initialisation requests");
const RESTART: End = End::Close(1012, "Service restart");

/// The longest life of a socket whose token never expires to speak of.
const LONGEST: Duration = Duration::from_hours(24 * 365);

/// A socket and who is at its other end.
pub(super) struct Session {
    service: Arc<Service>,
    connection: Connection,
    caller: Caller,
    /// When the token expires.
    expiry: Option<Instant>,
    is_known: bool,
    operations: Operations,
}

impl Session {
    /// Nothing has been said yet.
    pub(super) fn new(
        service: Arc<Service>,
        connection: Connection,
        bearer: Option<Bearer>,
        address: Option<IpAddr>,
    ) -> Self {
        let mut session = Self {
            service,
            connection,
            caller: Caller {
                identity: None,
                address,
            },
            expiry: None,
            is_known: false,
            operations: Operations::default(),
        };
        session.believe(bearer);
        session
    }

    fn believe(&mut self, bearer: Option<Bearer>) {
        if let Some(bearer) = bearer {
            let remaining = bearer.remaining(SystemTime::now()).min(LONGEST);
            self.expiry = Some(Instant::now() + remaining);
            self.caller.identity = Some(bearer.identity);
        }
    }

    /// Serves the socket until it ends, for whatever reason.
    pub(super) async fn run(mut self) {
        gauge!(telemetry::SOCKETS).increment(1);
        let end = self.serve().await;
        tracing::debug!(?end, "a socket ends");
        // What was watched is not watched any more, also while the client takes its time to leave.
        drop(self.operations);
        self.connection.end(end).await;
        gauge!(telemetry::SOCKETS).decrement(1);
    }

    async fn serve(&mut self) -> End {
        let stop = self.service.live.stop.clone();
        let settings = self.service.live.settings.clone();
        let now = Instant::now();
        let init = now + settings.socket_init_timeout;
        let mut ping = interval_at(now + settings.socket_ping, settings.socket_ping);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let sent = counter!(telemetry::LIVE_MESSAGES, "transport" => "websocket");
        let mut heard = now;
        loop {
            let end = tokio::select! {
                biased;
                () = stop.cancelled() => Err(RESTART),
                () = sleep_until(init), if !self.is_known => Err(NO_INIT),
                () = sleep_until(self.expiry.unwrap_or(init)), if self.expiry.is_some() => Err(EXPIRED),
                received = self.connection.receive() => {
                    heard = Instant::now();
                    match received {
                        Ok(message) => self.hear(message).await,
                        Err(end) => Err(end),
                    }
                }
                // After what has been received: a pong may have waited behind a slow answer.
                _ = ping.tick() => {
                    if heard.elapsed() > settings.socket_ping * 2 {
                        Err(End::Gone)
                    } else {
                        self.connection.send(Message::Ping(Bytes::new())).await
                    }
                }
                output = self.operations.next() => {
                    sent.increment(1);
                    self.connection.send(output).await
                }
            };
            if let Err(end) = end {
                return end;
            }
        }
    }

    async fn hear(&mut self, message: Message) -> Result<(), End> {
        let text = match &message {
            Message::Text(text) => text.as_str(),
            Message::Binary(_) => return Err(BAD_MESSAGE),
            // Pings of the socket itself are answered by the library.
            _ => return Ok(()),
        };
        match message::read(text).ok_or(BAD_MESSAGE)? {
            Incoming::Init(payload) => self.introduce(&payload).await,
            Incoming::Ping => self.connection.send(message::pong()).await,
            Incoming::Pong => Ok(()),
            Incoming::Subscribe { .. } if !self.is_known => Err(NOT_KNOWN),
            Incoming::Subscribe { id, request } => self.begin(id, request).await,
            Incoming::Complete { id } => {
                self.operations.end(&id);
                Ok(())
            }
        }
    }

    async fn introduce(&mut self, payload: &Map<String, Value>) -> Result<(), End> {
        if self.is_known {
            return Err(SECOND_INIT);
        }
        if let Some(authorization) = authorization(payload)? {
            let believed = self.service.authenticator.believe(authorization).await;
            let bearer = believed.map_err(|refusal| match refusal {
                Refusal::BadToken(why) => {
                    tracing::debug!(why, "bearer token refused");
                    BAD_TOKEN
                }
                Refusal::NoKeys => NO_KEYS,
            })?;
            self.believe(Some(bearer));
        }
        self.is_known = true;
        self.connection.send(message::acknowledged()).await
    }

    async fn begin(&mut self, id: String, request: Map<String, Value>) -> Result<(), End> {
        if self.operations.has(&id) {
            return Err(End::Close(4409, "Subscriber already exists"));
        }
        let most = usize::from(self.service.live.settings.socket_operations);
        if self.operations.len() >= most {
            let text = format!("A socket may have at most {most} operations under way at once.");
            let failure = Failure::refused(Code::RateLimited, text);
            let refusal = message::error(&id, &[failure.into_error()]);
            return self.connection.send(refusal).await;
        }
        let caller = self.caller.clone();
        self.operations.begin(&self.service, caller, id, request);
        Ok(())
    }
}

/// The value that stands for an `Authorization` header, if there is one.
fn authorization(payload: &Map<String, Value>) -> Result<Option<&str>, End> {
    let mut values = payload
        .iter()
        .filter(|(name, value)| name.eq_ignore_ascii_case("authorization") && !value.is_null());
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some((_, Value::String(value))), None) => Ok(Some(value)),
        // Not a text, or two of them: whoever reads the other one would see somebody else.
        _ => Err(BAD_TOKEN),
    }
}
