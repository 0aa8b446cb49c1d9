//! What a Redis holds, and the commands that our scripts and methods use. Time and expiry are steps of
//! the model: a key that has an expiry may go at any moment, another does not.

use std::collections::BTreeMap;

use likewise::domain::EventId;

/// An answer of Redis.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Nil,
    Int(i64),
    Text(String),
    List(Vec<Answer>),
    Error(String),
}

/// Everything in a Redis. Cloned for a copy that it may come back as.
#[derive(Debug, Clone, Default)]
pub struct Data {
    pub keys: BTreeMap<String, Key>,
}

/// One key.
#[derive(Debug, Clone)]
pub struct Key {
    pub value: Value,
    pub expires: bool,
}

/// What a key holds. Scores are whole numbers.
#[derive(Debug, Clone)]
pub enum Value {
    Text(String),
    Hash(BTreeMap<String, String>),
    Set(BTreeMap<String, i64>),
    Stream { entries: Entries, last: EventId },
}

/// Entries of a stream with their fields, in order.
pub type Entries = Vec<(EventId, Vec<(String, String)>)>;

impl Data {
    /// Carries out a command at a time in microseconds.
    pub fn run(&mut self, command: &[&str], now: u64) -> Answer {
        let (name, args) = command.split_first().unwrap();
        match (*name, args) {
            ("TIME", []) => list([now / 1_000_000, now % 1_000_000].map(|part| text(&part))),
            ("GET", [key]) => match self.value(key) {
                Some(Value::Text(found)) => text(found),
                _ => Answer::Nil,
            },
            ("SET", [key, value, options @ ..]) => {
                if options.contains(&"NX") && self.keys.contains_key(*key) {
                    return Answer::Nil;
                }
                let expires = options.contains(&"PX");
                let value = Value::Text((*value).to_owned());
                self.keys.insert((*key).to_owned(), Key { value, expires });
                text(&"OK")
            }
            ("DEL" | "UNLINK", keys) => {
                let gone = keys.iter().filter_map(|key| self.keys.remove(*key));
                count(gone.count())
            }
            ("EXISTS", [key]) => flag(self.keys.contains_key(*key)),
            ("PERSIST" | "PEXPIRE", [key, ..]) => match self.keys.get_mut(*key) {
                Some(found) => {
                    found.expires = *name == "PEXPIRE";
                    Answer::Int(1)
                }
                None => Answer::Int(0),
            },
            ("RENAME", [from, to]) => {
                let moved = self.keys.remove(*from).unwrap();
                self.keys.insert((*to).to_owned(), moved);
                text(&"OK")
            }
            ("SPUBLISH", _) => Answer::Int(0),
            ("SCAN", [_, "MATCH", pattern, ..]) => {
                let start = pattern.trim_end_matches('*');
                let keys = self.keys.keys().filter(|key| key.starts_with(start));
                list([text(&0), list(keys.map(text))])
            }
            _ if name.starts_with('H') => self.hash(name, args),
            _ if name.starts_with('Z') => self.set(name, args),
            _ if name.starts_with('X') => self.stream(name, args, now),
            _ => panic!("the model knows no {command:?}"),
        }
    }

    fn hash(&mut self, name: &str, args: &[&str]) -> Answer {
        let (key, args) = args.split_first().unwrap();
        if let ("HSET", [field, value]) = (name, args) {
            let made = self.made(key, || Value::Hash(BTreeMap::new()));
            let Value::Hash(hash) = made else { panic!() };
            hash.insert((*field).to_owned(), (*value).to_owned());
            return Answer::Int(1);
        }
        let mut none = BTreeMap::new();
        let hash = match self.keys.get_mut(*key) {
            Some(Key {
                value: Value::Hash(hash),
                ..
            }) => hash,
            _ => &mut none,
        };
        let answer = match (name, args) {
            ("HGET", [field]) => hash.get(*field).map_or(Answer::Nil, text),
            ("HEXISTS", [field]) => flag(hash.contains_key(*field)),
            ("HDEL", [field]) => flag(hash.remove(*field).is_some()),
            ("HSCAN", _) => {
                let pairs = hash.iter().flat_map(|(field, value)| [field, value]);
                list([text(&0), list(pairs.map(text))])
            }
            _ => panic!("the model knows no {name} {args:?}"),
        };
        if hash.is_empty() {
            self.keys.remove(*key);
        }
        answer
    }

    fn set(&mut self, name: &str, args: &[&str]) -> Answer {
        let (key, args) = args.split_first().unwrap();
        if name == "ZADD" {
            let made = self.made(key, || Value::Set(BTreeMap::new()));
            let Value::Set(set) = made else { panic!() };
            for pair in args.chunks(2) {
                set.insert(pair[1].to_owned(), pair[0].parse().unwrap());
            }
            return Answer::Int(1);
        }
        let mut none = BTreeMap::new();
        let set = match self.keys.get_mut(*key) {
            Some(Key {
                value: Value::Set(set),
                ..
            }) => set,
            _ => &mut none,
        };
        let mut order: Vec<_> = set.iter().map(|(member, score)| (*score, member)).collect();
        order.sort_unstable();
        let answer = match (name, args) {
            ("ZSCORE", [member]) => set.get(*member).map_or(Answer::Nil, text),
            ("ZCARD", []) => count(set.len()),
            ("ZRANK", [member]) => order
                .iter()
                .position(|(_, found)| found == member)
                .map_or(Answer::Nil, count),
            ("ZRANGE", [from, to, "WITHSCORES"]) => {
                let (from, to): (usize, usize) = (from.parse().unwrap(), to.parse().unwrap());
                let range = order.iter().skip(from).take(to + 1 - from);
                list(range.flat_map(|(score, member)| [text(member), text(score)]))
            }
            ("ZREM", [member]) => flag(set.remove(*member).is_some()),
            _ => panic!("the model knows no {name} {args:?}"),
        };
        if set.is_empty() {
            self.keys.remove(*key);
        }
        answer
    }

    fn stream(&mut self, name: &str, args: &[&str], now: u64) -> Answer {
        let place = usize::from(name == "XINFO");
        let (key, args) = args[place..].split_first().unwrap();
        if name == "XADD" {
            let made = self.made(key, || Value::Stream {
                entries: Vec::new(),
                last: EventId::START,
            });
            let Value::Stream { entries, last } = made else {
                panic!()
            };
            let id = match args[0] {
                "*" => last.next().max(EventId {
                    millis: now / 1000,
                    sequence: 0,
                }),
                id => id.parse().unwrap(),
            };
            assert!(id > *last, "XADD {id} after {last}");
            let fields = args[1..].chunks(2).map(|it| (it[0].into(), it[1].into()));
            entries.push((id, fields.collect()));
            *last = id;
            return text(&id);
        }
        let Some(Key {
            value: Value::Stream { entries, last },
            ..
        }) = self.keys.get_mut(*key)
        else {
            return match name {
                "XINFO" | "XSETID" => Answer::Error("ERR no such key".to_owned()),
                "XRANGE" => list([]),
                _ => Answer::Int(0),
            };
        };
        match (name, args) {
            ("XLEN", []) => count(entries.len()),
            ("XRANGE", [from, "+", "COUNT", limit]) => {
                let from: EventId = from.parse().unwrap();
                let found = entries.iter().filter(|(id, _)| *id >= from);
                let entry = |(id, fields): &(EventId, Vec<(String, String)>)| {
                    let fields = fields.iter().flat_map(|(name, value)| [name, value]);
                    list([text(id), list(fields.map(text))])
                };
                list(found.take(limit.parse().unwrap()).map(entry))
            }
            ("XTRIM", ["MINID", least]) => {
                let least: EventId = least.parse().unwrap();
                entries.retain(|(id, _)| *id >= least);
                Answer::Int(0)
            }
            ("XTRIM", ["MAXLEN", "0"]) => {
                entries.clear();
                Answer::Int(0)
            }
            ("XINFO", []) => list([text("last-generated-id"), text(last)]),
            ("XSETID", [id]) => {
                *last = id.parse().unwrap();
                text(&"OK")
            }
            _ => panic!("the model knows no {name} {args:?}"),
        }
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.keys.get(key).map(|key| &key.value)
    }

    fn made(&mut self, key: &str, value: impl FnOnce() -> Value) -> &mut Value {
        let entry = self.keys.entry(key.to_owned());
        let key = entry.or_insert_with(|| Key {
            value: value(),
            expires: false,
        });
        &mut key.value
    }
}

fn text(value: &(impl ToString + ?Sized)) -> Answer {
    Answer::Text(value.to_string())
}

fn count(number: usize) -> Answer {
    Answer::Int(number.try_into().unwrap())
}

fn flag(yes: bool) -> Answer {
    Answer::Int(yes.into())
}

fn list(items: impl IntoIterator<Item = Answer>) -> Answer {
    Answer::List(items.into_iter().collect())
}
