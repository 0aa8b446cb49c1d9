//! Inflicts the faults of a schedule, each for its time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinHandle, JoinSet, block_in_place};
use tokio::time::{Instant, sleep, sleep_until};

use crate::arguments::Fsync;
use crate::check::{Kind, Violation};
use crate::inside::{by_hand, limit_memory};
use crate::plan::{Fault, Planned, WORKERS};
use crate::proxy::Mode;
use crate::record::{Inflicted, KeyLoss, Micros, Restore};
use crate::restore::{self, LONGEST_DOUBT, cut_off};
use crate::servers::Stop;
use crate::world::{Cast, World};

/// With one fsync a second, Redis may hold back a write for two seconds while the disk is busy.
const HELD_BACK: Micros = 3_000_000;
/// After this long, a transaction of a worker that is held still is over: SQL ends it after 5 s.
const LAST_TRANSACTION: Micros = 6_000_000;

/// Inflicts faults and notes them.
pub struct Inflictor {
    pub world: Arc<World>,
    pub cast: Arc<Cast>,
    pub fsync: Fsync,
}

/// What has to be known about the faults for the checks.
#[derive(Debug, Default)]
pub struct Notes {
    pub faults: Vec<Inflicted>,
    pub restores: Vec<Restore>,
    pub key_losses: Vec<KeyLoss>,
    pub violations: Vec<Violation>,
    pub evicted: u64,
}

type Healing = JoinHandle<Restore>;

/// What one fault left behind.
#[derive(Default)]
struct Trace {
    healing: Option<Healing>,
    loss: Option<KeyLoss>,
    violation: Option<Violation>,
    evicted: u64,
}

impl Inflictor {
    /// Works through the schedule, at most two faults at a time. Takes at least so long.
    pub async fn run(self, schedule: &[Planned], length: Duration) -> Notes {
        let this = Arc::new(self);
        let begun = Instant::now();
        let mut notes = Notes::default();
        let mut active: Vec<Planned> = Vec::new();
        let mut running = JoinSet::new();
        let mut healing: Option<Healing> = None;
        let excluded = |active: &[Planned], fault: Fault| {
            active.len() >= 2 || active.iter().any(|it| it.fault.excludes(fault))
        };
        for planned in schedule {
            sleep_until(begun + Duration::from_millis(planned.at)).await;
            while excluded(&active, planned.fault) {
                let (ended, inflicted, trace) = running.join_next().await.unwrap().unwrap();
                active.retain(|it: &Planned| it.at != ended);
                healing = notes.take(inflicted, trace).or(healing);
            }
            if planned.fault == Fault::RestoreRedis || planned.fault == Fault::KillRedis {
                notes.heal(healing.take()).await;
            }
            active.push(*planned);
            let (this, planned) = (Arc::clone(&this), *planned);
            running.spawn(async move {
                let (inflicted, trace) = this.inflict(planned).await;
                (planned.at, inflicted, trace)
            });
        }
        sleep_until(begun + length).await;
        while let Some(ended) = running.join_next().await {
            let (_, inflicted, trace) = ended.unwrap();
            healing = notes.take(inflicted, trace).or(healing);
        }
        notes.heal(healing).await;
        notes.loosen();
        notes
    }

    async fn inflict(&self, planned: Planned) -> (Inflicted, Trace) {
        let (fault, lasts) = (planned.fault, Duration::from_millis(planned.lasts));
        let start = self.world.clock.now();
        let at = start / 1_000_000;
        println!("{at:>6} s  {} {}", fault.name(), fault.target());
        let mut trace = match fault {
            Fault::Kill(_) | Fault::Hold(_) | Fault::Terminate(_) => {
                self.process(fault, lasts).await
            }
            Fault::Cut(it) | Fault::Stall(it) | Fault::Mute(it) => {
                let wire = &self.world.wires[it.process][it.database];
                wire.set(match fault {
                    Fault::Cut(_) => Mode::Cut,
                    Fault::Stall(_) => Mode::Held,
                    _ => Mode::Mute,
                });
                sleep(lasts).await;
                wire.mend();
                Trace::default()
            }
            Fault::RestoreRedis => self.restore(lasts).await,
            Fault::KillRedis if self.fsync == Fsync::Everysec => self.kill_forgetful(lasts).await,
            Fault::KillRedis | Fault::HoldRedis | Fault::RestartRedis => {
                self.redis(fault, lasts).await
            }
            Fault::StopPostgres | Fault::CrashPostgres => self.postgres(fault, lasts).await,
            Fault::DeleteSets | Fault::ExpireSets | Fault::FlushScripts => {
                by_hand(&self.world, &self.cast, fault, lasts)
                    .await
                    .unwrap();
                Trace::default()
            }
            Fault::FillMemory | Fault::EvictSets => {
                let limited = limit_memory(&self.world, fault, lasts).await;
                let (evicted, violation) = limited.unwrap();
                Trace {
                    violation,
                    evicted,
                    ..Trace::default()
                }
            }
        };
        let end = self.world.clock.now();
        if fault == Fault::EvictSets {
            trace.loss = Some(KeyLoss {
                since: 0,
                from: start,
                to: end,
            });
        }
        let name = fault.name();
        (Inflicted { name, start, end }, trace)
    }

    async fn process(&self, fault: Fault, lasts: Duration) -> Trace {
        let (Fault::Kill(place) | Fault::Hold(place) | Fault::Terminate(place)) = fault else {
            return Trace::default();
        };
        let process = &self.world.processes[place];
        let ended = match fault {
            Fault::Hold(_) => {
                process.signal("STOP");
                sleep(lasts).await;
                process.signal("CONT");
                return Trace::default();
            }
            Fault::Terminate(_) => block_in_place(|| process.terminate()),
            _ => {
                block_in_place(|| process.kill());
                true
            }
        };
        sleep(lasts).await;
        process.start_again();
        let text = format!(
            "{} did not end within its grace after SIGTERM",
            process.name
        );
        Trace {
            violation: (!ended).then(|| Violation::new(Kind::Stuck, text)),
            ..Trace::default()
        }
    }

    async fn redis(&self, fault: Fault, lasts: Duration) -> Trace {
        let mut redis = self.world.redis.lock().await;
        match fault {
            Fault::HoldRedis => {
                block_in_place(|| redis.freeze());
                sleep(lasts).await;
                redis.thaw();
                return Trace::default();
            }
            Fault::RestartRedis => block_in_place(|| redis.stop()),
            _ => block_in_place(|| redis.kill()),
        }
        sleep(lasts).await;
        block_in_place(|| redis.start_again());
        Trace::default()
    }

    /// A kill that takes along what had not reached the file.
    async fn kill_forgetful(&self, lasts: Duration) -> Trace {
        let copied = self.world.clock.now().saturating_sub(HELD_BACK);
        let work = async || {
            self.redis(Fault::KillRedis, lasts).await;
        };
        self.cut_off(copied, work).await
    }

    /// Copies the files, goes on for a while, and comes back with the copy.
    async fn restore(&self, lasts: Duration) -> Trace {
        let copied = self.world.clock.now();
        let mut redis = self.world.redis.lock().await;
        let (files, copy) = (
            redis.folder().join("appendonlydir"),
            redis.folder().join("older"),
        );
        block_in_place(|| {
            redis.freeze();
            copy_files(&files, &copy);
            redis.thaw();
        });
        sleep(lasts).await;
        let work = async || {
            block_in_place(|| {
                redis.kill();
                std::fs::remove_dir_all(&files).unwrap();
                std::fs::rename(&copy, &files).unwrap();
                redis.start_again();
            });
        };
        self.cut_off(copied, work).await
    }

    async fn cut_off(&self, copied: Micros, work: impl AsyncFnOnce()) -> Trace {
        let (mut restore, checkpoints) = cut_off(&self.world, &self.cast, copied, work).await;
        let loss = KeyLoss {
            since: restore.copied,
            from: restore.down,
            to: restore.up,
        };
        let world = Arc::clone(&self.world);
        let healing = tokio::spawn(async move {
            let healed = restore::healed(&world, &checkpoints).await;
            restore.healed = healed.unwrap_or(Micros::MAX);
            restore
        });
        Trace {
            healing: Some(healing),
            loss: Some(loss),
            ..Trace::default()
        }
    }

    async fn postgres(&self, fault: Fault, lasts: Duration) -> Trace {
        let mut postgres = self.world.postgres.lock().await;
        let how = if fault == Fault::StopPostgres {
            Stop::Fast
        } else {
            Stop::Immediate
        };
        block_in_place(|| postgres.stop(how));
        sleep(lasts).await;
        block_in_place(|| postgres.start_again());
        Trace::default()
    }
}

impl Notes {
    fn take(&mut self, inflicted: Inflicted, trace: Trace) -> Option<Healing> {
        self.faults.push(inflicted);
        self.key_losses.extend(trace.loss);
        self.violations.extend(trace.violation);
        self.evicted += trace.evicted;
        trace.healing
    }

    async fn heal(&mut self, healing: Option<Healing>) {
        let Some(healing) = healing else { return };
        let restore = healing.await.unwrap();
        if restore.healed == Micros::MAX {
            let text = format!("Redis is in doubt {LONGEST_DOUBT:?} after it came back older");
            self.violations.push(Violation::new(Kind::Stuck, text));
        }
        self.restores.push(restore);
    }

    /// A worker that was held still while Redis went back may persist what Redis has lost when it goes on.
    fn loosen(&mut self) {
        let held = Fault::Hold(WORKERS.start).name();
        for restore in &mut self.restores {
            let during = self
                .faults
                .iter()
                .filter(|it| it.name == held && it.start < restore.up && it.end > restore.copied);
            for fault in during {
                restore.loose = true;
                let persisted = fault.end + LAST_TRANSACTION;
                restore.healed = restore.healed.max(persisted);
            }
        }
    }
}

fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
