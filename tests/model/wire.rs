//! The way to Redis and SQL: each request waits for the model's next step before it is carried out, and
//! may fail before or after that.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

use async_trait::async_trait;
use likewise::cache::{Connection, Connections, Error};
use redis::aio::ConnectionLike;
use redis::{Arg, Cmd, ErrorKind, Pipeline, RedisFuture, Value};

use super::data::{Answer, Data};
use super::scripts::{self, Guard};
use super::sql::Rows;

/// What becomes of the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fate {
    #[default]
    Answered,
    /// It never arrives.
    Lost,
    /// It is carried out, but the answer never arrives.
    Unanswered,
}

/// Redis and SQL as they are now.
#[derive(Default)]
pub struct State {
    pub redis: Data,
    pub rows: Rows,
    pub now: u64,
    pub fate: Fate,
    pub without: Option<Guard>,
}

/// The state, shared by all who work on it.
#[derive(Clone, Default)]
pub struct Wire(Arc<Mutex<State>>);

impl Wire {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Waits for a step and carries a request out. None if its sender is not to know the answer.
    pub async fn request<T>(&self, carry_out: impl FnOnce(&mut State) -> T) -> Option<T> {
        Turn(false).await;
        let mut state = self.state();
        let fate = std::mem::take(&mut state.fate);
        if fate == Fate::Lost {
            return None;
        }
        let answer = carry_out(&mut state);
        (fate == Fate::Answered).then_some(answer)
    }
}

/// Pending once.
struct Turn(bool);

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

#[async_trait]
impl Connections for Wire {
    async fn connection(&self) -> Result<Connection, Error> {
        Ok(Connection::new(self.clone()))
    }
}

impl ConnectionLike for Wire {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let answer = self.request(|state| state.run(cmd)).await;
            answer.ok_or_else(|| (ErrorKind::Io, "no answer").into())
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        _: &'a Pipeline,
        _: usize,
        _: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        unreachable!("neither rebuilds nor steps of a worker send pipelines")
    }

    fn get_db(&self) -> i64 {
        0
    }
}

impl State {
    fn run(&mut self, command: &Cmd) -> Value {
        let words: Vec<&str> = command
            .args_iter()
            .map(|word| match word {
                Arg::Simple(word) => std::str::from_utf8(word).unwrap(),
                other => panic!("{other:?}"),
            })
            .collect();
        let answer = match words[..] {
            ["EVALSHA", digest, keys, ref rest @ ..] => {
                let (keys, args) = rest.split_at(keys.parse().unwrap());
                scripts::run(&mut self.redis, self.without, digest, keys, args, self.now)
            }
            ["SCAN", _, "MATCH", pattern, ..]
                if pattern.contains(":lease:") && self.without == Some(Guard::Doubt) =>
            {
                let none = Answer::List(Vec::new());
                Answer::List(vec![Answer::Text("0".to_owned()), none])
            }
            ["XRANGE", _, from, ..] if self.without == Some(Guard::Chain) => {
                let mut answer = self.redis.run(&words, self.now);
                chain(&mut answer, from);
                answer
            }
            _ => self.redis.run(&words, self.now),
        };
        value(answer)
    }
}

/// Lets each entry follow the one before it, whatever it says.
fn chain(answer: &mut Answer, from: &str) {
    let Answer::List(entries) = answer else {
        return;
    };
    let (millis, sequence) = from.split_once('-').unwrap();
    let sequence: u64 = sequence.parse().unwrap();
    let mut before = Answer::Text(format!("{millis}-{}", sequence - 1));
    for entry in entries {
        let Answer::List(entry) = entry else { panic!() };
        let id = entry[0].clone();
        let Answer::List(fields) = &mut entry[1] else {
            panic!()
        };
        fields[1] = std::mem::replace(&mut before, id);
    }
}

fn value(answer: Answer) -> Value {
    match answer {
        Answer::Nil => Value::Nil,
        Answer::Int(number) => Value::Int(number),
        Answer::Text(text) => Value::BulkString(text.into_bytes()),
        Answer::List(items) => Value::Array(items.into_iter().map(value).collect()),
        Answer::Error(text) => panic!("Redis refuses: {text}"),
    }
}
