//! The time that processes have used, as Linux counts it.

use std::fs;

/// Of `/proc/<pid>/stat`: a tick is a hundredth of a second on every Linux that programs see.
const TICKS_A_SECOND: f64 = 100.0;

/// Seconds that a process and its children have used; 0 once it has ended.
pub fn seconds(pid: u32) -> f64 {
    let own = fields(pid).map_or(0.0, |fields| {
        // User and system time, and those of ended children.
        let ticks: u64 = fields[11..15]
            .iter()
            .map(|field| field.parse::<u64>().unwrap())
            .sum();
        #[expect(clippy::cast_precision_loss, reason = "ticks are few")]
        let ticks = ticks as f64;
        ticks / TICKS_A_SECOND
    });
    own + children(pid).into_iter().map(seconds).sum::<f64>()
}

/// Mebibytes that a process has in memory.
pub fn memory(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    let kibibytes: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kibibytes / 1024.0
}

fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let text = text.unwrap_or_default();
    text.split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

/// The fields after the name, which may hold blanks and brackets.
fn fields(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    Some(rest.split(' ').map(str::to_owned).collect())
}
