//! The streams of events, and what of them is pending.

use std::collections::HashMap;

use redis::Value;
use redis::streams::{StreamId, StreamRangeReply};

use super::look::next;
use super::{Cache, Error, Result};
use crate::domain::{ActivityId, EventId, LikeEvent, Partition, StreamEntry, Timestamp};

/// Entries of one command when a hash or the key space is walked.
const SCAN_COUNT: usize = 1000;

/// What waits in a partition's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waiting {
    /// Entries not yet trimmed.
    pub entries: u64,
    /// The oldest of them.
    pub oldest: Option<EventId>,
}

impl Cache {
    /// Up to `limit` entries after `after`, in order.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn entries(
        &self,
        partition: Partition,
        after: EventId,
        limit: usize,
    ) -> Result<Vec<StreamEntry>> {
        let mut connection = self.pool.connection().await?;
        let reply: StreamRangeReply = redis::cmd("XRANGE")
            .arg(self.keys.events(partition))
            .arg(after.next().to_string())
            .arg("+")
            .arg("COUNT")
            .arg(limit)
            .query_async(&mut connection)
            .await?;
        reply.ids.iter().map(entry).collect()
    }

    /// The id of the newest entry there ever was, also when it has been trimmed.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn last_event(&self, partition: Partition) -> Result<EventId> {
        self.tail(partition, EventId::START, false).await
    }

    /// Lifts the end of the stream to the checkpoint if it lies before it, and clears what is pending then.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn lift(&self, partition: Partition, checkpoint: EventId) -> Result<EventId> {
        self.tail(partition, checkpoint, true).await
    }

    async fn tail(&self, partition: Partition, checkpoint: EventId, lift: bool) -> Result<EventId> {
        let mut connection = self.pool.connection().await?;
        let last: String = self
            .scripts
            .tail
            .key(self.keys.events(partition))
            .key(self.keys.pending(partition))
            .arg(checkpoint.millis)
            .arg(checkpoint.sequence)
            .arg(u8::from(lift))
            .invoke_async(&mut connection)
            .await?;
        parsed(&last)
    }

    /// What waits in each partition's stream, in one round trip.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn waiting(&self, partitions: &[Partition]) -> Result<Vec<Waiting>> {
        let mut pipe = redis::pipe();
        for &partition in partitions {
            let events = self.keys.events(partition);
            pipe.xlen(&events);
            pipe.xrange_count(&events, "-", "+", 1);
        }
        // No transaction: each partition is looked at for itself.
        let mut connection = self.pool.connection().await?;
        let answers: Vec<Value> = pipe.query_async(&mut connection).await?;
        let mut answers = answers.into_iter();
        let mut waiting = Vec::with_capacity(partitions.len());
        for _ in partitions {
            let entries = next(&mut answers)?;
            let oldest: StreamRangeReply = next(&mut answers)?;
            let oldest = oldest
                .ids
                .first()
                .map(|entry| parsed(&entry.id))
                .transpose()?;
            waiting.push(Waiting { entries, oldest });
        }
        Ok(waiting)
    }

    /// Removes all entries up to the checkpoint; they are persisted.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn trim(&self, partition: Partition, checkpoint: EventId) -> Result<()> {
        let mut connection = self.pool.connection().await?;
        let _: u64 = redis::cmd("XTRIM")
            .arg(self.keys.events(partition))
            .arg("MINID")
            .arg(checkpoint.next().to_string())
            .query_async(&mut connection)
            .await?;
        Ok(())
    }

    /// The newest unpersisted event of each activity; activities with none are left out.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn pending(&self, activities: &[ActivityId]) -> Result<HashMap<ActivityId, EventId>> {
        let mut pipe = redis::pipe();
        for &activity in activities {
            let partition = self.keys.partition(activity);
            pipe.hget(self.keys.pending(partition), activity.get());
        }
        let mut answers = self.atomic(pipe).await?;
        let mut pending = HashMap::new();
        for &activity in activities {
            if let Some(id) = next::<Option<String>>(&mut answers)? {
                pending.insert(activity, parsed(&id)?);
            }
        }
        Ok(pending)
    }

    /// All that is pending in a partition.
    ///
    /// # Errors
    /// Redis is away.
    pub async fn all_pending(&self, partition: Partition) -> Result<Vec<(ActivityId, EventId)>> {
        let mut pending = HashMap::new();
        let mut cursor = 0_u64;
        loop {
            let mut connection = self.pool.connection().await?;
            let (following, pairs): (u64, Vec<(String, String)>) = redis::cmd("HSCAN")
                .arg(self.keys.pending(partition))
                .arg(cursor)
                .arg("COUNT")
                .arg(SCAN_COUNT)
                .query_async(&mut connection)
                .await?;
            for (activity, id) in pairs {
                let activity = activity
                    .parse()
                    .map_err(|_| Error::Unexpected(format!("pending activity {activity:?}")))?;
                pending.insert(activity, parsed(&id)?);
            }
            if following == 0 {
                return Ok(pending.into_iter().collect());
            }
            cursor = following;
        }
    }

    /// All keys of a pattern. Walks the whole key space in small steps; for rare occasions.
    pub(super) async fn keys_like(&self, pattern: &str) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let mut cursor = 0_u64;
        loop {
            let mut connection = self.pool.connection().await?;
            let (following, keys): (u64, Vec<String>) = redis::cmd("SCAN")
                .arg(cursor)
                .arg("MATCH")
                .arg(pattern)
                .arg("COUNT")
                .arg(SCAN_COUNT)
                .query_async(&mut connection)
                .await?;
            found.extend(keys);
            if following == 0 {
                return Ok(found);
            }
            cursor = following;
        }
    }
}

fn parsed(id: &str) -> Result<EventId> {
    id.parse()
        .map_err(|_| Error::Unexpected(format!("event id {id:?}")))
}

fn entry(found: &StreamId) -> Result<StreamEntry> {
    let id = parsed(&found.id)?;
    Ok(match event(id, found) {
        Some(event) => StreamEntry::Event(event),
        None => StreamEntry::Garbage {
            id,
            previous: field(found, "prev"),
            payload: payload(found),
        },
    })
}

fn event(id: EventId, found: &StreamId) -> Option<LikeEvent> {
    let liked: u8 = field(found, "liked")?;
    let at = Timestamp(field(found, "at")?);
    // A time that SQL cannot hold would make its whole batch fail for ever.
    at.to_utc().filter(|_| at.0 > 0)?;
    Some(LikeEvent {
        id,
        previous: field(found, "prev")?,
        activity: field(found, "activity")?,
        user: field(found, "user")?,
        liked: match liked {
            0 => false,
            1 => true,
            _ => return None,
        },
        at,
    })
}

fn field<T: std::str::FromStr>(found: &StreamId, name: &str) -> Option<T> {
    found.get::<String>(name)?.parse().ok()
}

/// The fields in the order of their names, as text without NUL, which Postgres cannot keep.
fn payload(found: &StreamId) -> String {
    let mut fields: Vec<_> = found.map.iter().collect();
    fields.sort_by_key(|(name, _)| *name);
    let text = |value: &Value| match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}"),
        other => format!("{other:?}"),
    };
    let fields = fields.iter().map(|(name, value)| {
        let name = name.replace('\0', "\u{fffd}");
        format!("{name:?}={:?}", text(value))
    });
    fields.collect::<Vec<_>>().join(" ")
}
