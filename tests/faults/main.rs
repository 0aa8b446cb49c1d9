//! The fault run: the whole service under load and under faults, and whether every promise was kept.
//! `docs/faults.md` says how to run it and how to read what it reports.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a run that cannot go on fails, and a panic says where"
)]

mod api;
mod arguments;
mod check;
mod client;
mod inflict;
mod inside;
mod plan;
mod process;
#[expect(dead_code, reason = "the other tests use the rest")]
#[path = "../support/proxy.rs"]
mod proxy;
mod pulse;
mod record;
mod report;
mod rest;
mod restore;
#[expect(dead_code, unused_imports, reason = "shared with the other tests")]
#[path = "../support/servers/mod.rs"]
mod servers;
mod world;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::Parser;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use arguments::Arguments;
use check::Violation;
use client::Client;
use inflict::{Inflictor, Notes};
use record::{Operation, Record};
use report::Report;
use world::{Cast, PARTITIONS, World};

/// Clients go on for so long after everything works again.
const CALM: Duration = Duration::from_secs(3);
/// How often the backlog is looked at.
const LOOK: Duration = Duration::from_millis(250);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    check::prove();
    let seed = arguments
        .seed
        .unwrap_or_else(|| rand::random_range(1..1_000_000));
    if arguments.plan {
        print_plan(&arguments, seed);
        return ExitCode::SUCCESS;
    }
    // Threads beyond the processors: some wait for servers to start or to end.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .unwrap();
    if runtime.block_on(run(&arguments, seed)) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn print_plan(arguments: &Arguments, seed: u64) {
    for planned in plan::plan(seed, arguments.seconds, arguments.only.as_deref()) {
        let (at, lasts, fault) = (planned.at, planned.lasts, planned.fault);
        println!(
            "{at:>9} ms, for {lasts:>5} ms: {} {}",
            fault.name(),
            fault.target()
        );
    }
}

/// Whether every promise was kept.
async fn run(arguments: &Arguments, seed: u64) -> bool {
    println!("seed {seed}: starting Redis, Postgres, two nodes and two workers");
    let world = Arc::new(World::start(arguments).await);
    let cast = world
        .cast(client::users(arguments.clients), arguments.activities)
        .await;
    let (begun, mut record, rest) = act(arguments, seed, &world, &cast).await;
    let ended = world.clock.now();
    let mut violations = rest.violations;
    let drained = rest::drained(&world).await;
    println!("comparing API, Redis and SQL");
    rest::look_around(&world, &cast, &mut record.operations).await;
    violations.extend(rest::agree(&world, &cast).await);
    violations.extend(rest::reconciled(&world).await.err());
    violations.extend(rest::calm(&world));
    let strange = world.api.strange().into_iter();
    violations.extend(strange.map(|text| Violation::new(check::Kind::Torn, text)));
    println!("checking {} operations", record.operations.len());
    violations.extend(check::history(&record));
    let drained = drained.map_err(|stuck| violations.push(stuck)).ok();

    let report = Report {
        arguments,
        seed,
        record: &record,
        violations: &violations,
        acted: (begun, ended),
        peak_backlog: rest.peak_backlog,
        recovered: rest.recovered,
        drained,
        evicted: rest.evicted,
        late: world.pulse.late(),
        unasked: world.processes.iter().map(process::Process::unasked).sum(),
    };
    let text = report.text();
    print!("\n{text}");
    if let Some(file) = &arguments.report {
        std::fs::write(file, &text).unwrap();
    }
    if !violations.is_empty() {
        keep_logs(arguments, &world);
    }
    violations.is_empty()
}

/// What is known when clients have stopped.
struct Rest {
    violations: Vec<Violation>,
    recovered: Option<Duration>,
    peak_backlog: u64,
    evicted: u64,
}

/// Lets clients act and inflicts faults, until everything works again. When the clients began, and what happened.
async fn act(
    arguments: &Arguments,
    seed: u64,
    world: &Arc<World>,
    cast: &Arc<Cast>,
) -> (record::Micros, Record, Rest) {
    let stop = CancellationToken::new();
    let begun = world.clock.now();
    let mut supervisors = JoinSet::new();
    for place in 0..world.processes.len() {
        let world = Arc::clone(world);
        supervisors.spawn(async move { world.processes[place].supervise().await });
    }
    let backlog = Arc::new(AtomicU64::new(0));
    supervisors.spawn(watch_backlog(Arc::clone(world), Arc::clone(&backlog)));
    let clients = arguments.clients;
    let period = Duration::from_secs(1) * u32::from(clients) / arguments.rate;
    let mut acting: JoinSet<Vec<Operation>> = JoinSet::new();
    for number in 0..clients {
        let client = Client::new(number, clients, seed, Arc::clone(world), Arc::clone(cast));
        acting.spawn(client.run(period, stop.clone()));
    }
    let inflictor = Inflictor {
        world: Arc::clone(world),
        cast: Arc::clone(cast),
        fsync: arguments.fsync,
    };
    let schedule = plan::plan(seed, arguments.seconds, arguments.only.as_deref());
    let length = Duration::from_secs(arguments.seconds);
    let notes = inflictor.run(&schedule, length).await;
    let Notes {
        faults,
        restores,
        key_losses,
        mut violations,
        evicted,
    } = notes;
    let mut operations = Vec::new();
    let recovered = rest::recovered(world, cast, &mut operations).await;
    tokio::time::sleep(CALM).await;
    stop.cancel();
    for client in acting.join_all().await {
        operations.extend(client);
    }
    supervisors.abort_all();
    let record = Record {
        operations,
        faults,
        restores,
        key_losses,
    };
    let rest = Rest {
        recovered: recovered.map_err(|stuck| violations.push(stuck)).ok(),
        violations,
        peak_backlog: backlog.load(Ordering::Relaxed),
        evicted,
    };
    (begun, record, rest)
}

/// Notes how many events wait at most.
async fn watch_backlog(world: Arc<World>, peak: Arc<AtomicU64>) {
    loop {
        let Ok(mut redis) = world.redis().await else {
            tokio::time::sleep(LOOK).await;
            continue;
        };
        let mut lengths = redis::pipe();
        for partition in 0..PARTITIONS {
            lengths.xlen(format!("{{likes:{partition}}}:events"));
        }
        while let Ok(waiting) = lengths.query_async::<Vec<u64>>(&mut redis).await {
            peak.fetch_max(waiting.iter().sum(), Ordering::Relaxed);
            tokio::time::sleep(LOOK).await;
        }
    }
}

fn keep_logs(arguments: &Arguments, world: &World) {
    std::fs::create_dir_all(&arguments.logs).unwrap();
    for process in &world.processes {
        let file = arguments.logs.join(format!("{}.log", process.name));
        std::fs::write(file, process.log()).unwrap();
    }
    println!(
        "the logs of all processes are in {}",
        arguments.logs.display()
    );
}
