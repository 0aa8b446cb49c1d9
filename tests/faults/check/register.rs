//! Whether the history of one like can be explained: each operation took effect at one moment between
//! its beginning and its end, and every answer fits the state at that moment.
//!
//! The search is exact. It walks through beginnings and ends in order and keeps every configuration that
//! is possible: the state, and which of the open operations have taken effect already (Lowe, "Testing for
//! linearizability", 2017, the just-in-time variant of Wing and Gong's search). Where nothing is open,
//! configurations fall together, so that the search is quick on long histories.

use std::collections::HashSet;

use crate::record::{Action, Micros};

/// An operation on one like.
#[derive(Debug, Clone)]
pub struct Op {
    pub start: Micros,
    pub end: Micros,
    pub what: What,
    /// Whether it took effect for certain. Otherwise perhaps, at any moment until its end, perhaps never.
    pub certain: bool,
    /// The operation of the record that stands behind it.
    pub source: usize,
}

/// What an operation does, or shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Shows the state.
    Read(bool),
    /// Changes it; what was answered (liked, changed), if anything was.
    Change(Action, Option<(bool, bool)>),
}

/// Something that happened to the state from outside.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    pub at: Micros,
    pub what: Outside,
}

#[derive(Debug, Clone, Copy)]
pub enum Outside {
    /// From here on, states are remembered, as one of them may come back.
    Copied,
    /// Redis came back: its set shows the one, the truth is the other. `loose`: the truth may be any
    /// state since the copy.
    Back { set: bool, truth: bool, loose: bool },
    /// From here on, the set shows the truth.
    Healed,
}

/// What cannot be explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// No order of the operations fits, at the latest here: the place of an operation in the list.
    At(usize),
    /// What came back at a moment was never the state since the copy.
    Back(Micros),
    /// Too much was open at once.
    TooWide(Micros),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Config {
    /// What an operation meets. Differs from the truth only while Redis is in doubt.
    set: bool,
    truth: bool,
    /// The states since the copy, as bits.
    since: u8,
    /// The open operations that have taken effect, as bits.
    done: u128,
}

const WIDEST: usize = 128;

enum Event {
    Start(usize),
    Outside(Outside),
    End(usize),
}

/// Finds out whether a history that begins without a like can be explained.
pub fn explain(ops: &[Op], marks: &[Mark]) -> Result<(), Failure> {
    let mut search = Search {
        ops,
        open: [None; WIDEST],
        configs: HashSet::from([Config {
            set: false,
            truth: false,
            since: bit(false),
            done: 0,
        }]),
    };
    for (at, event) in events(ops, marks) {
        match event {
            Event::Start(op) => search.start(op).ok_or(Failure::TooWide(at))?,
            Event::Outside(what) => search.outside(what).ok_or(Failure::Back(at))?,
            Event::End(op) => search.end(op).ok_or(Failure::At(op))?,
        }
    }
    Ok(())
}

fn events(ops: &[Op], marks: &[Mark]) -> Vec<(Micros, Event)> {
    let mut events = Vec::with_capacity(ops.len() * 2 + marks.len());
    for (place, op) in ops.iter().enumerate() {
        events.push((op.start, Event::Start(place)));
        events.push((op.end, Event::End(place)));
    }
    events.extend(marks.iter().map(|it| (it.at, Event::Outside(it.what))));
    // What begins in the microsecond in which something else ends was there with it.
    events.sort_by_key(|(at, event)| {
        let order = match event {
            Event::Start(_) => 0,
            Event::Outside(_) => 1,
            Event::End(_) => 2,
        };
        (*at, order)
    });
    events
}

fn bit(state: bool) -> u8 {
    if state { 2 } else { 1 }
}

struct Search<'a> {
    ops: &'a [Op],
    open: [Option<usize>; WIDEST],
    configs: HashSet<Config>,
}

impl Search<'_> {
    fn start(&mut self, op: usize) -> Option<()> {
        let slot = self.open.iter().position(Option::is_none)?;
        self.open[slot] = Some(op);
        Some(())
    }

    fn end(&mut self, op: usize) -> Option<()> {
        let slot = self.open.iter().position(|it| *it == Some(op))?;
        self.close();
        let certain = self.ops[op].certain;
        let mask = 1_u128 << slot;
        let configs = self.configs.drain();
        self.configs = configs
            .filter(|config| !certain || config.done & mask != 0)
            .map(|config| Config {
                done: config.done & !mask,
                ..config
            })
            .collect();
        self.open[slot] = None;
        (!self.configs.is_empty()).then_some(())
    }

    fn outside(&mut self, what: Outside) -> Option<()> {
        self.close();
        let mut configs = HashSet::new();
        for config in self.configs.drain() {
            match what {
                Outside::Copied => drop(configs.insert(Config {
                    since: bit(config.set) | bit(config.truth),
                    ..config
                })),
                Outside::Back { set, truth, loose } => {
                    for truth in [truth, loose ^ truth] {
                        if config.since & bit(truth) != 0 {
                            configs.insert(Config {
                                set,
                                truth,
                                ..config
                            });
                        }
                    }
                }
                Outside::Healed => drop(configs.insert(Config {
                    set: config.truth,
                    ..config
                })),
            }
        }
        self.configs = configs;
        (!self.configs.is_empty()).then_some(())
    }

    /// Adds all configurations that can be reached without a further beginning or end.
    fn close(&mut self) {
        let open: Vec<(u128, &Op)> = (0..WIDEST)
            .filter_map(|slot| Some((1_u128 << slot, &self.ops[self.open[slot]?])))
            .collect();
        let mut stack: Vec<Config> = self.configs.iter().copied().collect();
        while let Some(config) = stack.pop() {
            let mut reach = |next: Config| {
                if self.configs.insert(next) {
                    stack.push(next);
                }
            };
            if config.set != config.truth {
                reach(Config {
                    set: config.truth,
                    ..config
                });
            }
            for &(mask, op) in &open {
                if config.done & mask != 0 || is_rival(config, &open, op) {
                    continue;
                }
                if let Some(next) = applied(config, op) {
                    reach(Config {
                        done: config.done | mask,
                        ..next
                    });
                }
            }
        }
    }
}

/// Of several uncertain changes of one kind, the one that ends first stands for all: whatever a later
/// one explains, it explains as well.
fn is_rival(config: Config, open: &[(u128, &Op)], op: &Op) -> bool {
    !op.certain
        && open.iter().any(|(mask, other)| {
            config.done & mask == 0
                && !other.certain
                && other.what == op.what
                && (other.end, other.source) < (op.end, op.source)
        })
}

/// The state after an operation; None if its answer does not fit, or if it is uncertain and would do nothing.
fn applied(config: Config, op: &Op) -> Option<Config> {
    let was = config.set;
    let (action, answer) = match op.what {
        What::Read(shown) => return (shown == was).then_some(config),
        What::Change(action, answer) => (action, answer),
    };
    let now = match action {
        Action::Read => was,
        Action::Toggle => !was,
        Action::Like => true,
        Action::Unlike => false,
    };
    let fits = answer.is_none_or(|answer| answer == (now, now != was));
    if !fits || !op.certain && now == was {
        return None;
    }
    if now == was {
        return Some(config);
    }
    Some(Config {
        set: now,
        truth: now,
        since: config.since | bit(now),
        ..config
    })
}
