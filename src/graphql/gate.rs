//! What every request passes on its way in, whatever way it comes: over HTTP, a socket or a stream of events.

use async_graphql::{Value, Variables};

use super::documents::{Documents, Keep};
use super::error::{Error, Result};
use super::guard::{self, Prepared};
use super::lane::Lane;
use crate::config::Limits;
use crate::domain::{Caller, Cost};
use crate::rates::Rates;

/// So many bytes of a document and its variables are as much work as one value of an answer.
const BYTES_A_VALUE: usize = 20;

/// What a client wants executed.
#[derive(Debug, Default)]
pub struct Asked {
    /// The document; None if only its hash was sent.
    pub query: Option<String>,
    /// Which of its operations.
    pub operation_name: Option<String>,
    /// Values of its variables.
    pub variables: Variables,
    /// The SHA-256 of the document in hexadecimal digits, or the id of a trusted one.
    pub hash: Option<String>,
}

impl Asked {
    /// About as many as it was sent in.
    fn bytes(&self) -> usize {
        let variables = self.variables.iter();
        let variables: usize = variables
            .map(|(name, value)| name.len() + bytes(value))
            .sum();
        self.query.as_ref().map_or(0, String::len) + variables
    }
}

fn bytes(value: &Value) -> usize {
    // What separates it from the next one.
    1 + match value {
        Value::String(text) => text.len() + 2,
        Value::List(values) => values.iter().map(bytes).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| name.len() + bytes(value))
            .sum(),
        _ => 4,
    }
}

/// Finds documents, measures them, and charges who sends them. One for a process.
pub struct Gate {
    limits: Limits,
    rates: Rates,
    documents: Documents,
    lane: Lane,
}

impl Gate {
    /// With these limits.
    pub fn new(limits: Limits, rates: Rates, documents: Documents) -> Self {
        Self {
            limits,
            rates,
            documents,
            lane: Lane::default(),
        }
    }

    /// The limits of one request.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Where large requests are read and validated.
    pub fn lane(&self) -> &Lane {
        &self.lane
    }

    /// Sees that a request may be executed. After this comes `graphql::execute`, and nothing else.
    ///
    /// # Errors
    /// `BAD_USER_INPUT`, with `extensions.limit` where there is too much of something; `RATE_LIMITED`;
    /// `PERSISTED_QUERY_NOT_FOUND`; `FORBIDDEN` where only trusted documents are executed and this is none.
    pub async fn prepare(&self, caller: &Caller, asked: Asked) -> Result<Prepared> {
        let bytes = asked.bytes();
        let fee = Cost {
            reads: 1 + bytes / BYTES_A_VALUE,
            changes: 0,
        };
        let taken = self.rates.take_here(caller, fee);
        taken.map_err(Error::rate_limited)?;
        let (text, keep) = self.documents.find(asked.query, asked.hash.as_deref())?;
        let bytes = bytes.max(text.len());
        let (operation, variables) = (asked.operation_name, asked.variables);
        let prepare = || guard::prepare(text, operation, variables, &self.limits);
        let mut prepared = self.lane.run(bytes, prepare).await?;
        prepared.bytes = bytes;
        let taken = self.rates.take(caller, prepared.cost).await;
        taken.map_err(Error::rate_limited)?;
        prepared.keep = keep;
        Ok(prepared)
    }

    /// Remembers a document by its hash, once it has turned out to be valid.
    pub fn keep(&self, keep: Option<Keep>) {
        if let Some(keep) = keep {
            self.documents.keep(keep);
        }
    }
}
