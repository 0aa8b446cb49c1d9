//! `likewise load`: demo or benchmark data.

mod generate;
mod words;

use std::sync::Arc;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::Error;
use crate::app;
use crate::config::{Log, Storage};
use crate::domain::{Timestamp, UserId};
use crate::store::Store;
pub use generate::{Generator, Size};

/// Rows in one statement.
const CHUNK: usize = 10_000;

/// Writes demo or benchmark data: users, activities and likes, skewed like real feeds
///
/// The data is added to what is there; the database has to be migrated. Users get the subjects
/// demo-1, demo-2 and so on, for which `likewise token` signs tokens.
#[derive(Debug, Args)]
pub struct Load {
    /// How many users
    #[arg(long, default_value = "1000", value_name = "NUMBER")]
    users: usize,

    /// How many activities
    #[arg(long, default_value = "200", value_name = "NUMBER")]
    activities: usize,

    /// How many likes; no more than nine tenths of all users like one activity
    #[arg(long, default_value = "20000", value_name = "NUMBER")]
    likes: usize,

    /// The same seed and size give the same data
    #[arg(long, default_value = "1", value_name = "NUMBER")]
    seed: u64,

    #[command(flatten)]
    storage: Storage,

    #[command(flatten)]
    log: Log,
}

impl Load {
    pub(super) async fn run(self) -> Result<bool, Error> {
        crate::telemetry::init_logs(&self.log)?;
        let store = app::open_store(&self.storage).await?;
        let size = Size {
            users: self.users,
            activities: self.activities,
            likes: self.likes,
        };
        let rows = (size.users + size.activities + size.likes) as u64;
        let bar = ProgressBar::new(rows).with_style(style());
        let likes = load(&store, size, self.seed, |rows| bar.inc(rows as u64)).await?;
        bar.finish();
        println!(
            "Loaded {} users, {} activities and {} likes.",
            size.users, size.activities, likes
        );
        Ok(true)
    }
}

fn style() -> ProgressStyle {
    let bar = ProgressStyle::with_template(
        "{bar:40} {human_pos}/{human_len} rows, {elapsed}, {eta} left",
    );
    bar.unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Writes data of a size; tells after each statement how many rows it wrote. Answers how many likes
/// there was room for.
///
/// # Errors
/// The database failed; what was written stays.
pub async fn load(
    store: &Arc<dyn Store>,
    size: Size,
    seed: u64,
    progress: impl Fn(usize),
) -> Result<usize, Error> {
    let mut generator = Generator::new(size, seed, Timestamp::now());
    let mut users: Vec<UserId> = Vec::with_capacity(size.users);
    for start in (0..size.users).step_by(CHUNK) {
        let identities = Generator::users(start..size.users.min(start + CHUNK));
        users.extend(store.load_users(&identities).await?);
        progress(identities.len());
    }
    let mut activities = Vec::with_capacity(size.activities);
    for start in (0..size.activities).step_by(CHUNK) {
        let places = start..size.activities.min(start + CHUNK);
        let new: Vec<_> = places
            .filter_map(|place| generator.activity(place, &users))
            .collect();
        activities.extend(store.load_activities(&new).await?);
        progress(new.len());
    }
    let shares = generator.shares();
    let mut likes = Vec::with_capacity(CHUNK);
    for (place, (&activity, &share)) in activities.iter().zip(&shares).enumerate() {
        likes.extend(generator.likes(place, activity, share, &users));
        if likes.len() >= CHUNK {
            store.load_likes(&likes).await?;
            progress(likes.len());
            likes.clear();
        }
    }
    store.load_likes(&likes).await?;
    progress(likes.len());
    Ok(shares.iter().sum())
}
