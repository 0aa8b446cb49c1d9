//! Operations that are under way on one socket.

use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::Response as Executed;
use async_graphql::parser::types::OperationType;
use futures::future::{AbortHandle, AbortRegistration, Abortable};
use futures::stream::{self, BoxStream, SelectAll, StreamExt};
use serde_json::{Map, Value};
use tokio_tungstenite::tungstenite::Message;

use super::message;
use crate::domain::Caller;
use crate::http::graphql::{self, Rendered};
use crate::http::{Service, request};

/// What comes of an operation.
enum Output {
    Next(Message),
    /// The last one.
    Last(Message),
}

/// Operations by the client's names for them.
#[derive(Default)]
pub(super) struct Operations {
    running: SelectAll<BoxStream<'static, (Arc<str>, Output)>>,
    names: HashMap<Arc<str>, AbortHandle>,
}

impl Operations {
    /// How many are under way.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether one of this name is under way.
    pub(super) fn has(&self, id: &str) -> bool {
        self.names.contains_key(id)
    }

    /// Begins one. Its answers come out of `next`.
    pub(super) fn begin(
        &mut self,
        service: &Arc<Service>,
        caller: Caller,
        id: String,
        request: Map<String, Value>,
    ) {
        let id: Arc<str> = id.into();
        let outputs = outputs(service, caller, &id, request);
        let (handle, registration) = AbortHandle::new_pair();
        let name = Arc::clone(&id);
        self.running.push(tagged(outputs, registration, id));
        self.names.insert(name, handle);
    }

    /// Ends one, if it is still under way.
    pub(super) fn end(&mut self, id: &str) {
        if let Some(handle) = self.names.remove(id) {
            handle.abort();
        }
    }

    /// The next message to send. Waits for ever where nothing is under way.
    pub(super) async fn next(&mut self) -> Message {
        match self.running.next().await {
            Some((_, Output::Next(message))) => message,
            Some((id, Output::Last(message))) => {
                self.names.remove(&id);
                message
            }
            None => std::future::pending().await,
        }
    }
}

fn tagged(
    outputs: BoxStream<'static, Output>,
    registration: AbortRegistration,
    id: Arc<str>,
) -> BoxStream<'static, (Arc<str>, Output)> {
    let outputs = outputs.map(move |output| (Arc::clone(&id), output));
    Abortable::new(outputs, registration).boxed()
}

/// What comes of a request: results and then the end, or a refusal.
fn outputs(
    service: &Arc<Service>,
    caller: Caller,
    id: &Arc<str>,
    request: Map<String, Value>,
) -> BoxStream<'static, Output> {
    let (service, id) = (Arc::clone(service), Arc::clone(id));
    let outputs = async move {
        let prepared = match request::from_fields(request) {
            Ok(asked) => graphql::prepare(&service, &caller, asked, &ALLOWED).await,
            Err(failure) => Err(failure.into()),
        };
        match prepared {
            Ok(prepared) => answered(graphql::results(&service, caller.identity, prepared), &id),
            Err(refused) => {
                let errors = refused.into_executed().errors;
                stream::iter([Output::Last(message::error(&id, &errors))]).boxed()
            }
        }
    };
    stream::once(outputs).flatten().boxed()
}

fn answered(results: BoxStream<'static, Executed>, id: &Arc<str>) -> BoxStream<'static, Output> {
    let (id, last) = (Arc::clone(id), message::complete(id));
    let mut is_over = false;
    // The end follows the last result, unless a refusal was it.
    let results = results.map(Some).chain(stream::iter([None]));
    let outputs = results.filter_map(move |result| {
        let output = match result {
            _ if is_over => None,
            None => Some(Output::Last(last.clone())),
            Some(executed) => match Rendered::of(&executed) {
                Rendered {
                    data: None, errors, ..
                } => {
                    is_over = true;
                    Some(Output::Last(message::error(&id, errors)))
                }
                rendered => Some(Output::Next(message::next(&id, &rendered))),
            },
        };
        std::future::ready(output)
    });
    outputs.boxed()
}

/// Everything goes over a socket.
const ALLOWED: [OperationType; 3] = [
    OperationType::Query,
    OperationType::Mutation,
    OperationType::Subscription,
];
