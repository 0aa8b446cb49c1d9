//! What a run says in the end.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use crate::arguments::Arguments;
use crate::check::{Kind, Violation, seconds};
use crate::record::{Action, Inflicted, Micros, Outcome, Record};

/// So many findings of each kind are shown in full.
const SHOWN: usize = 3;

/// All that is reported.
pub struct Report<'a> {
    pub arguments: &'a Arguments,
    pub seed: u64,
    pub record: &'a Record,
    pub violations: &'a [Violation],
    /// From when to when clients acted.
    pub acted: (Micros, Micros),
    pub peak_backlog: u64,
    pub recovered: Option<Duration>,
    pub drained: Option<Duration>,
    pub evicted: u64,
    /// How much time the machine did not have for the run.
    pub late: Duration,
    /// How often processes ended by themselves.
    pub unasked: u32,
}

impl Report<'_> {
    /// The text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let lines = [
            self.head(),
            self.operations(),
            self.faults(),
            self.findings(),
            self.outages(),
            self.recovery(),
        ];
        for line in lines {
            let _ = writeln!(text, "{line}");
        }
        for kind in Kind::ALL {
            let found = self.violations.iter().filter(|it| it.kind == kind);
            for violation in found.take(SHOWN) {
                let _ = writeln!(text, "\n{}: {}", kind.name(), violation.text);
            }
        }
        let Arguments {
            seconds,
            clients,
            activities,
            rate,
            ..
        } = self.arguments;
        let (fsync, seed) = (self.arguments.fsync.name(), self.seed);
        let _ = writeln!(
            text,
            "seed {seed} replays this: make faults SIZE={seconds} SEED={seed} ARGS='--clients {clients} --activities {activities} --rate {rate} --fsync {fsync}'"
        );
        text
    }

    fn head(&self) -> String {
        let Arguments {
            seconds,
            clients,
            activities,
            fsync,
            ..
        } = self.arguments;
        let fsync = fsync.name();
        let seed = self.seed;
        format!(
            "seed        {seed}\nseconds     {seconds} under faults; {clients} clients, \
             {activities} activities, appendfsync {fsync}"
        )
    }

    fn operations(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for operation in &self.record.operations {
            let is_read = operation.action == Action::Read;
            let outcome = match &operation.outcome {
                Outcome::Done(answer) if answer.seen.is_none() => "answered by SQL alone",
                Outcome::Done(_) if is_read => "read",
                Outcome::Done(answer) if answer.changed => "changed",
                Outcome::Done(_) => "unchanged",
                Outcome::Refused | Outcome::Unknown if is_read => "reads failed",
                Outcome::Refused => "refused",
                Outcome::Conflict => "conflict",
                Outcome::Unknown => "unknown",
            };
            *counts.entry(outcome).or_default() += 1;
        }
        format!(
            "operations  {}: {}",
            self.record.operations.len(),
            listed(&counts)
        )
    }

    fn faults(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for fault in &self.record.faults {
            *counts.entry(fault.name).or_default() += 1;
        }
        let (total, kinds) = (self.record.faults.len(), counts.len());
        let listed = listed(&counts);
        let (evicted, unasked) = (self.evicted, self.unasked);
        format!(
            "faults      {total} of {kinds} kinds{listed}\n            with them, {evicted} keys were evicted, \
             and {unasked} starts of a process failed and were repeated"
        )
    }

    fn findings(&self) -> String {
        let of = |kind| self.violations.iter().filter(|it| it.kind == kind).count();
        let counts: Vec<_> = Kind::ALL
            .iter()
            .map(|kind| format!("{} {}", kind.name(), of(*kind)))
            .collect();
        format!("found       {}", counts.join(", "))
    }

    fn outages(&self) -> String {
        let (quiet, any) = outages(self.record, self.acted);
        format!(
            "outages     the longest time without a change: {:.1} s in all, {:.1} s of it with no fault active",
            seconds(any),
            seconds(quiet)
        )
    }

    fn recovery(&self) -> String {
        let told = |time: Option<Duration>| {
            time.map_or("never".to_owned(), |time| {
                format!("{:.1} s", time.as_secs_f64())
            })
        };
        let (recovered, drained) = (told(self.recovered), told(self.drained));
        let peak = self.peak_backlog;
        let late = self.late.as_secs_f64();
        format!(
            "recovery    both nodes worked {recovered} after the last fault, SQL had caught up {drained} \
             after the last change; peak backlog {peak} events\nmachine     busy with something else \
             for {late:.1} s"
        )
    }
}

fn listed(counts: &BTreeMap<&str, usize>) -> String {
    let counts = counts
        .iter()
        .map(|(name, count)| format!("\n  {count:>9} {name}"));
    counts.collect()
}

/// The longest time without a successful change, with no fault active and at all.
fn outages(record: &Record, (from, to): (Micros, Micros)) -> (Micros, Micros) {
    let changes = record.operations.iter().filter_map(|operation| {
        let is_done = matches!(operation.outcome, Outcome::Done(_));
        (is_done && operation.action != Action::Read).then_some(operation.end)
    });
    let mut changes: Vec<Micros> = changes.filter(|at| (from..=to).contains(at)).collect();
    changes.extend([from, to]);
    changes.sort_unstable();
    let mut faults: Vec<&Inflicted> = record.faults.iter().collect();
    faults.sort_by_key(|fault| fault.start);
    let (mut quiet, mut any) = (0, 0);
    for gap in changes.windows(2) {
        let (mut at, end) = (gap[0], gap[1]);
        any = any.max(end - at);
        let during = faults.iter().filter(|it| it.end > gap[0] && it.start < end);
        for fault in during {
            quiet = quiet.max(fault.start.saturating_sub(at));
            at = at.max(fault.end);
        }
        quiet = quiet.max(end.saturating_sub(at));
    }
    (quiet, any)
}
