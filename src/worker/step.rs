//! One batch of one partition, from Redis to SQL and back.

use metrics::{counter, histogram};

use super::plan::{End, Plan, end, persisted, plan, skip};
use super::{Error, Worker};
use crate::domain::{ActivityId, EventId, Partition};
use crate::fault::point;
use crate::store::Persisted;
use crate::telemetry;

/// What came of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing waits.
    Idle,
    /// So many entries are persisted and settled.
    Persisted(usize),
    /// Another worker was faster; the next step starts from its checkpoint.
    Fenced,
    /// Redis was older than SQL with nothing new in it; its sets are dropped.
    Healed,
}

/// Where a worker stands in one partition.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    partition: Partition,
    /// The checkpoint as this worker knows it; None when it has to be read and the predecessor's work settled.
    checkpoint: Option<EventId>,
}

impl Place {
    /// At a partition not looked at yet.
    pub fn new(partition: Partition) -> Self {
        Self {
            partition,
            checkpoint: None,
        }
    }

    /// Which partition.
    pub fn partition(&self) -> Partition {
        self.partition
    }

    /// Forgets the checkpoint, because another worker may have moved it.
    pub fn doubt(&mut self) {
        self.checkpoint = None;
    }
}

impl Worker {
    /// Persists the next batch of a partition. Safe at any time and beside any number of other workers:
    /// the checkpoint in SQL lets one of them through.
    ///
    /// # Errors
    /// Redis or SQL failed; nothing is lost, and the next step takes up what this one left.
    pub async fn step(&self, place: &mut Place) -> Result<Step, Error> {
        let outcome = self.attempt(place).await;
        if outcome.is_err() {
            place.doubt();
        }
        outcome
    }

    async fn attempt(&self, place: &mut Place) -> Result<Step, Error> {
        let partition = place.partition;
        let from = match place.checkpoint {
            Some(checkpoint) => checkpoint,
            None => self.take_over(partition).await?,
        };
        place.checkpoint = Some(from);
        let entries = self
            .cache
            .entries(partition, from, self.options.batch)
            .await?;
        point("worker.read");
        let Some(plan) = plan(partition, from, &entries) else {
            return self.check_end(place, from).await;
        };
        if plan.doubt {
            if self.store.checkpoint(partition).await? != from {
                place.doubt();
                return Ok(Step::Fenced);
            }
            point("worker.doubted");
            // Before the commit: after it, a crash would forget that the sets are in doubt.
            self.drop_sets(partition).await?;
        }
        let step = self.commit(&plan).await?;
        // What was pending before Redis went back is settled by the next take-over.
        let known = step != Step::Fenced && !plan.doubt;
        place.checkpoint = known.then_some(plan.batch.to);
        Ok(step)
    }

    /// Reads the checkpoint and settles what a predecessor committed and did not settle.
    async fn take_over(&self, partition: Partition) -> Result<EventId, Error> {
        let checkpoint = self.store.checkpoint(partition).await?;
        point("worker.checkpoint");
        self.settle(partition, checkpoint).await?;
        Ok(checkpoint)
    }

    async fn settle(&self, partition: Partition, checkpoint: EventId) -> Result<(), Error> {
        let pending = self.cache.all_pending(partition).await?;
        point("worker.pending");
        let persisted = persisted(pending, checkpoint);
        // It may have set likes aside that their sets still show: rebuilt sets do not.
        let activities: Vec<_> = persisted.iter().map(|(activity, _)| *activity).collect();
        self.drop_each(&activities).await?;
        self.cache.settle(partition, &persisted).await?;
        point("worker.persisted_before");
        self.cache.trim(partition, checkpoint).await?;
        point("worker.trimmed_before");
        Ok(())
    }

    async fn commit(&self, plan: &Plan) -> Result<Step, Error> {
        let batch = &plan.batch;
        let persisted = self.store.persist(batch).await?;
        let Persisted::Committed {
            set_aside,
            gone,
            refused,
        } = persisted
        else {
            return Ok(Step::Fenced);
        };
        point("worker.persisted");
        for letter in &set_aside {
            counter!(telemetry::DEAD_LETTERS, "reason" => letter.reason).increment(1);
            tracing::warn!(
                event.id = %letter.id,
                event.payload = letter.payload,
                reason = letter.reason,
                "an event was set aside"
            );
        }
        // Before settling: after a crash between the two, what is pending tells whose sets are in doubt.
        self.drop_each(&refused).await?;
        self.cache.settle(batch.partition, &plan.newest).await?;
        point("worker.settled");
        for activity in gone {
            self.cache.forget(activity).await?;
            point("worker.forgotten");
        }
        self.cache.trim(batch.partition, batch.to).await?;
        point("worker.trimmed");
        counter!(telemetry::EVENTS_PERSISTED).increment(plan.entries as u64);
        #[expect(
            clippy::cast_precision_loss,
            reason = "a batch has thousands of entries at most"
        )]
        histogram!(telemetry::BATCH_EVENTS).record(plan.entries as f64);
        Ok(Step::Persisted(plan.entries))
    }

    /// Nothing waits: heals Redis where its stream does not end at the checkpoint.
    async fn check_end(&self, place: &mut Place, checkpoint: EventId) -> Result<Step, Error> {
        let partition = place.partition;
        let last = self.cache.last_event(partition).await?;
        point("worker.ended");
        match end(checkpoint, last) {
            End::AtCheckpoint => {
                // Redis may have come back as it was right before this was settled.
                self.settle(partition, checkpoint).await?;
                Ok(Step::Idle)
            }
            End::Before => {
                self.drop_sets(partition).await?;
                self.cache.lift(partition, checkpoint).await?;
                point("worker.lifted");
                Ok(Step::Healed)
            }
            End::After => {
                if !self
                    .cache
                    .entries(partition, checkpoint, 1)
                    .await?
                    .is_empty()
                {
                    return Ok(Step::Idle);
                }
                point("worker.looked_again");
                place.doubt();
                if self.store.checkpoint(partition).await? != checkpoint {
                    return Ok(Step::Fenced);
                }
                point("worker.still_gone");
                self.drop_sets(partition).await?;
                let skipped = skip(partition, checkpoint, last);
                let persisted = self.store.persist(&skipped).await?;
                point("worker.skipped");
                match persisted {
                    Persisted::Committed { .. } => Ok(Step::Healed),
                    Persisted::Fenced => Ok(Step::Fenced),
                }
            }
        }
    }

    async fn drop_each(&self, activities: &[ActivityId]) -> Result<(), Error> {
        for &activity in activities {
            self.cache.drop_set(activity).await?;
        }
        Ok(())
    }

    async fn drop_sets(&self, partition: Partition) -> Result<(), Error> {
        counter!(telemetry::DOUBTS).increment(1);
        tracing::warn!(
            partition = partition.0,
            "Redis may be older than SQL: dropping the partition's sets, which are rebuilt when needed"
        );
        self.cache.drop_partition(partition).await?;
        point("worker.dropped");
        Ok(())
    }
}
