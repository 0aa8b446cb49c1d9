//! `likewise reconcile`: finds and heals differences between Redis and the database.

use std::collections::BTreeMap;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::Error;
use crate::app;
use crate::config::{Log, Storage};
use crate::likes::reconcile::{Progress, Reconcile, Report};

/// Compares counts and rows of the database with the sets in Redis, and names every difference
///
/// May run at any time, beside any number of API nodes and workers; events that wait for a worker are
/// no differences. Exit code 0 where nothing differs (or all is healed), 1 where something does.
#[derive(Debug, Args)]
pub struct ReconcileCommand {
    /// Heal what differs: recount, and drop sets, which are then rebuilt from the database
    #[arg(long)]
    repair: bool,

    #[command(flatten)]
    storage: Storage,

    #[command(flatten)]
    log: Log,
}

impl ReconcileCommand {
    /// Whether all is well, now.
    pub(super) async fn run(self) -> Result<bool, Error> {
        crate::telemetry::init_logs(&self.log)?;
        let store = app::open_store(&self.storage).await?;
        let cache = app::open_cache(&self.storage).await?;
        let bar = ProgressBar::no_length().with_style(style());
        let progress = |step| match step {
            Progress::Counted(activities) => bar.inc(activities),
            Progress::Found(sets) => bar.inc_length(sets),
            Progress::Compared => bar.inc(1),
        };
        let report = Reconcile::new(store, cache)
            .run(self.repair, progress)
            .await?;
        bar.finish_and_clear();
        print(&report, self.repair);
        let unclear = report
            .differences
            .iter()
            .any(|found| found.kind() == "unclear");
        Ok(report.differences.is_empty() || self.repair && !unclear)
    }
}

fn style() -> ProgressStyle {
    let bar = ProgressStyle::with_template(
        "{spinner} {human_pos} activities and sets compared, {elapsed}",
    );
    bar.unwrap_or_else(|_| ProgressStyle::default_spinner())
}

fn print(report: &Report, repaired: bool) {
    let mut kinds: BTreeMap<_, u64> = BTreeMap::new();
    for difference in &report.differences {
        println!("{difference}");
        *kinds.entry(difference.kind()).or_default() += 1;
    }
    println!(
        "Compared {} activities and {} sets: {} differences.",
        report.activities,
        report.sets,
        report.differences.len()
    );
    for (kind, count) in kinds {
        println!("  {kind}: {count}");
    }
    if !report.differences.is_empty() {
        println!(
            "{}",
            if repaired {
                "Healed all but the unclear ones."
            } else {
                "Nothing was changed; --repair heals."
            }
        );
    }
}
