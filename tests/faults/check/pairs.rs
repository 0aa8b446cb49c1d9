//! The history of each (user, activity): what the record says of it, and whether it can be explained.

use std::collections::{BTreeMap, HashMap};

use super::register::{Failure, Mark, Op, Outside, What, explain};
use super::{Kind, Violation};
use crate::record::{Action, Answer, KeyLoss, Micros, Operation, Outcome, Pair, Record};

/// How long after its last answer failed to come a request may still take effect: a node that is held
/// still has it in its buffers, and answers within 10 s once it goes on.
const LATEST: Micros = 30_000_000;
/// Operations shown around the one that cannot be explained.
const SHOWN: usize = 12;

/// Checks every pair.
pub fn check(record: &Record) -> Vec<Violation> {
    let mut pairs: BTreeMap<Pair, Vec<(usize, &Operation)>> = BTreeMap::new();
    for (place, operation) in record.operations.iter().enumerate() {
        let pair = (operation.user, operation.activity);
        pairs.entry(pair).or_default().push((place, operation));
    }
    let mut violations = Vec::new();
    for (pair, mut operations) in pairs {
        operations.sort_by_key(|(_, operation)| operation.start);
        let mut history = History {
            losses: &record.key_losses,
            ops: Vec::new(),
            retried: Vec::new(),
            wrong: Vec::new(),
        };
        history.read(&operations);
        let marks = marks(record, pair);
        if let Err(failure) = explain(&history.ops, &marks) {
            history.tell(failure, &marks);
        }
        for (kind, what, at) in history.wrong {
            let excerpt = excerpt(&operations, at, &marks, record);
            let (user, activity) = pair;
            let text = format!("user {user} and activity {activity}: {what}:\n{excerpt}");
            violations.push(Violation { kind, text });
        }
    }
    violations
}

fn marks(record: &Record, pair: Pair) -> Vec<Mark> {
    let marks = record.restores.iter().flat_map(|restore| {
        let back = Outside::Back {
            set: restore.set(pair),
            truth: restore.truth(pair),
            loose: restore.loose,
        };
        [
            (restore.copied, Outside::Copied),
            (restore.up, back),
            (restore.healed, Outside::Healed),
        ]
    });
    marks.map(|(at, what)| Mark { at, what }).collect()
}

struct History<'a> {
    losses: &'a [KeyLoss],
    ops: Vec<Op>,
    /// Changes that were sent more than once under one key.
    retried: Vec<Op>,
    /// What is wrong, and when it showed.
    wrong: Vec<(Kind, String, Micros)>,
}

impl History<'_> {
    fn read(&mut self, operations: &[(usize, &Operation)]) {
        let mut keyed: HashMap<u64, Vec<(usize, &Operation)>> = HashMap::new();
        for &(source, operation) in operations {
            match (operation.action, operation.key) {
                (Action::Read, _) => self.seen(source, operation),
                (_, None) => self.group(&[(source, operation)]),
                (_, Some(key)) => keyed.entry(key).or_default().push((source, operation)),
            }
        }
        let mut keyed: Vec<_> = keyed.into_values().collect();
        keyed.sort_by_key(|tries| tries[0].0);
        for tries in keyed {
            self.group(&tries);
        }
        self.ops.sort_by_key(|op| op.start);
    }

    /// What an answer shows is a look at the state of its own.
    fn seen(&mut self, source: usize, operation: &Operation) {
        if let Outcome::Done(Answer {
            seen: Some(seen), ..
        }) = operation.outcome
        {
            self.ops.push(Op {
                start: operation.start,
                end: operation.end,
                what: What::Read(seen.liked),
                certain: true,
                source,
            });
        }
    }

    /// The tries of one change. Together they take effect once, unless its key may have been forgotten
    /// in between: then each further try may have an effect of its own.
    fn group(&mut self, tries: &[(usize, &Operation)]) {
        // What was sent first, when, and what was answered first.
        let mut sent: Option<(usize, Micros)> = None;
        let mut action = tries[0].1.action;
        let mut answered: Option<(Micros, Answer)> = None;
        let mut until = 0;
        for &(source, operation) in tries {
            if !matches!(operation.outcome, Outcome::Done(_) | Outcome::Unknown) {
                continue;
            }
            let forgotten = sent.is_some_and(|(_, since)| {
                let end = answered.map_or(Micros::MAX, |(end, _)| end);
                self.may_be_forgotten(since, end, operation)
            });
            if sent.is_none() {
                action = operation.action;
            }
            if !forgotten && operation.action != action {
                // Refused, whether or not the client got to know.
                if matches!(operation.outcome, Outcome::Done(_)) {
                    let text = "a key was taken for two operations".to_owned();
                    self.wrong.push((Kind::Doubled, text, operation.end));
                }
                continue;
            }
            if forgotten {
                self.seen(source, operation);
                let end = operation.end + LATEST;
                let what = What::Change(operation.action, None);
                self.push(operation.start, end, what, false, source);
                continue;
            }
            let first_try = sent.is_none();
            sent.get_or_insert((source, operation.start));
            until = until.max(operation.end);
            let Outcome::Done(answer) = operation.outcome else {
                continue;
            };
            self.agrees(answered, answer, first_try, operation.end);
            if !first_try {
                self.seen(source, operation);
            }
            answered.get_or_insert((operation.end, answer));
        }
        let Some((source, start)) = sent else { return };
        let (end, answer, certain) = match answered {
            Some((end, answer)) => (end, Some((answer.liked, answer.changed)), true),
            None => (until + LATEST, None, false),
        };
        self.push(start, end, What::Change(action, answer), certain, source);
        if tries.len() > 1 {
            let again = Op {
                certain: false,
                end: until + LATEST,
                what: What::Change(action, None),
                start,
                source,
            };
            self.retried.push(again);
        }
    }

    fn push(&mut self, start: Micros, end: Micros, what: What, certain: bool, source: usize) {
        self.ops.push(Op {
            start,
            end,
            what,
            certain,
            source,
        });
    }

    /// Whether a key that was first sent at `since` and known from `known` on may be new again to a later try.
    fn may_be_forgotten(&self, since: Micros, known: Micros, later: &Operation) -> bool {
        self.losses
            .iter()
            .any(|loss| later.end > loss.from && since < loss.to && known >= loss.since)
    }

    fn agrees(
        &mut self,
        before: Option<(Micros, Answer)>,
        answer: Answer,
        first_try: bool,
        at: Micros,
    ) {
        if let Some((_, before)) = before
            && (before.liked, before.changed) != (answer.liked, answer.changed)
        {
            let text = format!("a replay answers {answer:?}, before it was {before:?}");
            self.wrong.push((Kind::Doubled, text, at));
        }
        let contradicts = answer.seen.is_some_and(|seen| seen.liked != answer.liked);
        if first_try && contradicts {
            let text = format!("an answer contradicts itself: {answer:?}");
            self.wrong.push((Kind::Torn, text, at));
        }
    }

    /// Says what is wrong: carried out twice, if that would explain it, else lost.
    fn tell(&mut self, failure: Failure, marks: &[Mark]) {
        let (kind, text, at) = match failure {
            Failure::At(op) => {
                let mut ops = self.ops.clone();
                ops.extend(self.retried.iter().cloned());
                ops.sort_by_key(|op| op.start);
                let at = self.ops[op].end;
                if !self.retried.is_empty() && explain(&ops, marks).is_ok() {
                    (Kind::Doubled, "a key took effect twice", at)
                } else {
                    (Kind::Lost, "a change was lost", at)
                }
            }
            Failure::Back(at) => {
                let text = "a change from before the copy, or one that SQL had, was lost";
                (Kind::Lost, text, at)
            }
            Failure::TooWide(at) => (Kind::Torn, "too much is open at once to tell", at),
        };
        self.wrong.push((kind, text.to_owned(), at));
    }
}

/// The operations on a pair around a moment, with what happened to the service meanwhile.
fn excerpt(
    operations: &[(usize, &Operation)],
    at: Micros,
    marks: &[Mark],
    record: &Record,
) -> String {
    let place = operations.partition_point(|(_, it)| it.start <= at);
    let from = place.saturating_sub(SHOWN);
    let shown = &operations[from..(place + SHOWN / 3).min(operations.len())];
    let mut lines: Vec<(Micros, String)> = Vec::new();
    for (_, operation) in shown {
        let key = operation
            .key
            .map_or(String::new(), |key| format!(" with key {key}"));
        let here = if operation.end == at { "  <- here" } else { "" };
        let line = format!(
            "node {}  {:?}{key}: {:?}{here}",
            operation.node + 1,
            operation.action,
            operation.outcome,
        );
        lines.push((operation.start, span(operation.start, operation.end, &line)));
    }
    let earliest = lines.first().map_or(0, |line| line.0);
    let during = |start: Micros, end: Micros| end >= earliest && start <= at;
    for mark in marks.iter().filter(|it| during(it.at, it.at)) {
        let line = span(mark.at, mark.at, &format!("{:?}", mark.what));
        lines.push((mark.at, line));
    }
    for fault in record.faults.iter().filter(|it| during(it.start, it.end)) {
        lines.push((fault.start, span(fault.start, fault.end, fault.name)));
    }
    lines.sort_by_key(|line| line.0);
    let lines: Vec<_> = lines.into_iter().map(|line| line.1).collect();
    lines.join("\n")
}

fn span(start: Micros, end: Micros, text: &str) -> String {
    let (start, end) = (seconds(start), seconds(end));
    format!("    {start:>11.6} to {end:>11.6}  {text}")
}

#[expect(clippy::cast_precision_loss, reason = "for people to read")]
pub fn seconds(at: Micros) -> f64 {
    at as f64 / 1e6
}
