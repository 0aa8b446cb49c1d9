//! Which faults come when. The seed and the length decide it, nothing else.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

/// Time between the beginnings of two faults, in milliseconds: so that a run of 100 s has each kind once.
const GAP: (u64, u64) = (2_900, 4_300);
/// How often a fault comes while another lasts.
const OVERLAP: f64 = 0.35;
/// Clients come to speed before the first fault.
const WARM_UP: u64 = 3_000;

/// What can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Kill(usize),
    Hold(usize),
    Terminate(usize),
    KillRedis,
    HoldRedis,
    RestartRedis,
    RestoreRedis,
    StopPostgres,
    CrashPostgres,
    Cut(Wire),
    Stall(Wire),
    Mute(Wire),
    DeleteSets,
    ExpireSets,
    FlushScripts,
    FillMemory,
    EvictSets,
}

/// A wire from a process to a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wire {
    pub process: usize,
    pub database: usize,
}

/// API nodes are the processes 0 and 1, workers 2 and 3.
pub const NODES: std::ops::Range<usize> = 0..2;
pub const WORKERS: std::ops::Range<usize> = 2..4;
/// The places of the databases of a wire.
pub const REDIS: usize = 0;
pub const SQL: usize = 1;

/// One fault of the schedule.
#[derive(Debug, Clone, Copy)]
pub struct Planned {
    /// Milliseconds after the clients have begun.
    pub at: u64,
    /// How long it lasts, in milliseconds.
    pub lasts: u64,
    pub fault: Fault,
}

/// The kinds, each with the least and the longest time it lasts in milliseconds.
const KINDS: [(Kind, u64, u64); 24] = [
    (|r| Fault::Kill(node(r)), 200, 2_000),
    (|r| Fault::Hold(node(r)), 500, 4_000),
    (|r| Fault::Terminate(node(r)), 100, 1_500),
    (|r| Fault::Kill(worker(r)), 200, 4_000),
    // A worker's lease on a partition holds for three seconds: most times another takes over meanwhile.
    (|r| Fault::Hold(worker(r)), 1_500, 6_500),
    (|r| Fault::Terminate(worker(r)), 100, 1_500),
    (|_| Fault::KillRedis, 100, 1_500),
    (|_| Fault::HoldRedis, 300, 3_000),
    (|_| Fault::RestartRedis, 100, 1_500),
    (|_| Fault::RestoreRedis, 500, 4_000),
    (|_| Fault::StopPostgres, 500, 4_000),
    (|_| Fault::CrashPostgres, 200, 3_000),
    (|r| Fault::Cut(wire(r, REDIS)), 50, 2_000),
    (|r| Fault::Stall(wire(r, REDIS)), 200, 3_000),
    (|r| Fault::Mute(wire(r, REDIS)), 200, 2_000),
    (|r| Fault::Cut(wire(r, SQL)), 50, 2_000),
    (|r| Fault::Stall(wire_of(node(r), SQL)), 200, 4_000),
    // Long enough for another worker to persist what this one is about to persist when it goes on.
    (|r| Fault::Stall(wire_of(worker(r), SQL)), 2_500, 6_000),
    (|r| Fault::Mute(wire(r, SQL)), 200, 3_000),
    (|_| Fault::DeleteSets, 500, 2_500),
    (|_| Fault::ExpireSets, 500, 2_500),
    (|_| Fault::FlushScripts, 300, 1_000),
    (|_| Fault::FillMemory, 500, 3_000),
    (|_| Fault::EvictSets, 500, 2_000),
];

type Kind = fn(&mut StdRng) -> Fault;

fn node(random: &mut StdRng) -> usize {
    random.random_range(NODES)
}

fn worker(random: &mut StdRng) -> usize {
    random.random_range(WORKERS)
}

fn wire(random: &mut StdRng, database: usize) -> Wire {
    wire_of(random.random_range(0..WORKERS.end), database)
}

fn wire_of(process: usize, database: usize) -> Wire {
    Wire { process, database }
}

/// Deals all kinds in a random order, then again, until the time is over.
pub fn plan(seed: u64, seconds: u64, only: Option<&str>) -> Vec<Planned> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut kinds = KINDS;
    let mut planned: Vec<Planned> = Vec::new();
    let (mut at, mut busy_until) = (WARM_UP, 0);
    loop {
        kinds.shuffle(&mut random);
        for (kind, least, most) in kinds {
            let lasts = random.random_range(least..=most);
            let fault = kind(&mut random);
            let during = planned.last().filter(|it| !it.fault.excludes(fault));
            at = match during {
                Some(other) if random.random_bool(OVERLAP) => {
                    other.at + random.random_range(0..=other.lasts)
                }
                _ => at.max(busy_until + 200),
            };
            if at + lasts > seconds * 1_000 {
                return planned;
            }
            let wanted = only.is_none_or(|only| fault.name().contains(only));
            if wanted {
                planned.push(Planned { at, lasts, fault });
                busy_until = busy_until.max(at + lasts);
            }
            at += random.random_range(GAP.0..=GAP.1) / if wanted { 1 } else { 4 };
        }
    }
}

impl Fault {
    /// Two that touch the same thing cannot last at the same time.
    pub fn excludes(self, other: Self) -> bool {
        self.touches() & other.touches() != 0
    }

    /// What it touches, as bits: the four processes, Redis, Postgres, and eight wires.
    fn touches(self) -> u32 {
        const REDIS_ITSELF: u32 = 1 << 4;
        const POSTGRES_ITSELF: u32 = 1 << 5;
        const WIRES: u32 = 0xff << 8;
        const BOTH_WORKERS: u32 = 0b1100;
        match self {
            Self::Kill(it) | Self::Hold(it) | Self::Terminate(it) => 1 << it,
            Self::RestoreRedis => REDIS_ITSELF | POSTGRES_ITSELF | WIRES,
            // While Redis is full, workers have to go on.
            Self::FillMemory => REDIS_ITSELF | POSTGRES_ITSELF | WIRES | BOTH_WORKERS,
            Self::StopPostgres | Self::CrashPostgres => POSTGRES_ITSELF,
            Self::Cut(wire) | Self::Stall(wire) | Self::Mute(wire) => {
                1 << (8 + 2 * wire.process + wire.database)
            }
            _ => REDIS_ITSELF,
        }
    }

    /// The kind, as the report counts it.
    pub fn name(self) -> &'static str {
        let of = |process, node, worker| {
            if NODES.contains(&process) {
                node
            } else {
                worker
            }
        };
        let wire = |wire: Wire, redis, sql| if wire.database == REDIS { redis } else { sql };
        match self {
            Self::Kill(it) => of(it, "API node killed", "worker killed"),
            Self::Hold(it) => of(it, "API node held still", "worker held still"),
            Self::Terminate(it) => of(it, "API node restarted", "worker restarted"),
            Self::KillRedis => "Redis killed",
            Self::HoldRedis => "Redis held still",
            Self::RestartRedis => "Redis restarted",
            Self::RestoreRedis => "Redis restored from an older copy",
            Self::StopPostgres => "Postgres stopped",
            Self::CrashPostgres => "Postgres crashed",
            Self::Cut(it) => wire(it, "wire to Redis cut", "wire to Postgres cut"),
            Self::Stall(it) => wire(it, "wire to Redis stalled", "wire to Postgres stalled"),
            Self::Mute(it) => wire(
                it,
                "replies of Redis dropped",
                "replies of Postgres dropped",
            ),
            Self::DeleteSets => "sets deleted by hand",
            Self::ExpireSets => "sets expired by hand",
            Self::FlushScripts => "scripts flushed",
            Self::FillMemory => "memory of Redis full",
            Self::EvictSets => "sets evicted",
        }
    }

    /// Which of several it hits.
    pub fn target(self) -> &'static str {
        const PROCESSES: [&str; 4] = ["node 1", "node 2", "worker 1", "worker 2"];
        match self {
            Self::Kill(it) | Self::Hold(it) | Self::Terminate(it) => PROCESSES[it],
            Self::Cut(wire) | Self::Stall(wire) | Self::Mute(wire) => PROCESSES[wire.process],
            _ => "",
        }
    }
}
