//! `likesChangedAt` never falls, and one version of an activity has one count and one list of likers.

use std::collections::{BTreeMap, HashMap};

use super::pairs::seconds;
use super::{Kind, Violation};
use crate::record::{Micros, Operation, Outcome, Record, Restore, Seen};

/// Checks every activity, over all clients: what has ended before something began is older.
pub fn check(record: &Record) -> Vec<Violation> {
    let mut activities: BTreeMap<u16, Vec<(&Operation, Seen)>> = BTreeMap::new();
    for operation in &record.operations {
        if let Outcome::Done(answer) = &operation.outcome
            && let Some(seen) = answer.seen
        {
            let list = activities.entry(operation.activity).or_default();
            list.push((operation, seen));
        }
    }
    // A Redis that comes back older may show older versions than before.
    let breaks: Vec<Micros> = record.restores.iter().map(|it| it.up).collect();
    let mut violations = Vec::new();
    for (activity, mut list) in activities {
        let falls = falls(&list, &breaks);
        // While Redis is in doubt, its set and SQL are two views, and a change gives both its version.
        list.retain(|(operation, _)| {
            let doubts = |it: &Restore| operation.start < it.healed && operation.end > it.up;
            !record.restores.iter().any(doubts)
        });
        let found = falls.into_iter().chain(differs(&list));
        for text in found {
            let text = format!("activity {activity}: {text}");
            violations.push(Violation::new(Kind::Torn, text));
        }
    }
    violations
}

/// The first answer that is older than one that was there before it was asked for.
fn falls(list: &[(&Operation, Seen)], breaks: &[Micros]) -> Option<String> {
    let epoch = |at: Micros| breaks.partition_point(|it| *it <= at);
    let mut events: Vec<(Micros, bool, usize)> = Vec::with_capacity(list.len() * 2);
    for (place, (operation, _)) in list.iter().enumerate() {
        // What was under way while Redis came back belongs to neither side.
        if epoch(operation.start) == epoch(operation.end) {
            events.push((operation.start, false, place));
            events.push((operation.end, true, place));
        }
    }
    events.sort_unstable();
    let mut newest: HashMap<usize, (i64, usize)> = HashMap::new();
    let mut floors = vec![None; list.len()];
    for (at, is_end, place) in events {
        let (_, seen) = list[place];
        let newest = newest.entry(epoch(at)).or_insert((i64::MIN, place));
        if !is_end {
            floors[place] = Some(*newest);
            continue;
        }
        if let Some((version, before)) = floors[place]
            && seen.version < version
        {
            return Some(format!(
                "likesChangedAt falls from {} to {}:\n{}\n{}",
                version,
                seen.version,
                line(list[before]),
                line(list[place])
            ));
        }
        *newest = (*newest).max((seen.version, place));
    }
    None
}

/// Two answers of one version that do not say the same.
fn differs(list: &[(&Operation, Seen)]) -> Option<String> {
    let mut known: HashMap<i64, usize> = HashMap::new();
    let mut tops: HashMap<i64, usize> = HashMap::new();
    for (place, (_, seen)) in list.iter().enumerate() {
        let counted = *known.entry(seen.version).or_insert(place);
        let listed = match seen.top {
            Some(_) => *tops.entry(seen.version).or_insert(place),
            None => place,
        };
        for other in [counted, listed] {
            let before = list[other].1;
            let tops = before.top.zip(seen.top);
            if before.count != seen.count || tops.is_some_and(|(before, now)| before != now) {
                let (one, two) = (line(list[other]), line(list[place]));
                return Some(format!("one version, two states:\n{one}\n{two}"));
            }
        }
    }
    None
}

fn line((operation, seen): (&Operation, Seen)) -> String {
    let (start, end) = (seconds(operation.start), seconds(operation.end));
    let (node, action) = (operation.node + 1, operation.action);
    format!("    {start:>11.6} to {end:>11.6}  node {node}  {action:?} shows {seen:?}")
}
