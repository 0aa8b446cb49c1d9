//! What to do with a run of events: decisions only, no I/O.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::domain::{ActivityId, DeadLetter, EventId, Partition, StreamEntry, Timestamp};
use crate::store::{Batch, Write};

/// What to write to SQL, and what to settle in Redis after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// For SQL.
    pub batch: Batch,
    /// The newest event of each activity in this run, in the order of keys.
    pub newest: Vec<(ActivityId, EventId)>,
    /// How many entries the run has.
    pub entries: usize,
    /// Whether the run does not follow the checkpoint: then Redis may be older than SQL, and the
    /// sets of the partition have to go before the batch is committed.
    pub doubt: bool,
}

/// Plans a run of entries that were read after the checkpoint `from`, in the order of the stream.
/// Of several events of one (activity, user) only the last counts. None for an empty run.
pub fn plan(partition: Partition, from: EventId, entries: &[StreamEntry]) -> Option<Plan> {
    let to = entries.last()?.id();
    let mut writes = BTreeMap::new();
    let mut changed: BTreeMap<ActivityId, (EventId, Timestamp)> = BTreeMap::new();
    let mut garbage = Vec::new();
    for entry in entries {
        match entry {
            StreamEntry::Event(event) => {
                let write = Write {
                    event: event.id,
                    activity: event.activity,
                    user: event.user,
                    liked_at: event.liked.then_some(event.at),
                };
                writes.insert((event.activity, event.user), write);
                let newest = changed
                    .entry(event.activity)
                    .or_insert((event.id, event.at));
                *newest = (event.id, newest.1.max(event.at));
            }
            StreamEntry::Garbage { id, payload, .. } => garbage.push(DeadLetter {
                id: *id,
                reason: "garbage",
                payload: payload.clone(),
            }),
        }
    }
    Some(Plan {
        doubt: !follows(from, entries),
        entries: entries.len(),
        newest: changed
            .iter()
            .map(|(activity, (id, _))| (*activity, *id))
            .collect(),
        batch: Batch {
            partition,
            from,
            to,
            writes: writes.into_values().collect(),
            changed: changed
                .into_iter()
                .map(|(activity, (_, at))| (activity, at))
                .collect(),
            garbage,
        },
    })
}

/// Of what is pending, that which the checkpoint says is persisted: what a worker before this one
/// committed and did not settle, or what Redis forgot to have settled.
pub fn persisted(
    mut pending: Vec<(ActivityId, EventId)>,
    checkpoint: EventId,
) -> Vec<(ActivityId, EventId)> {
    pending.retain(|(_, newest)| *newest <= checkpoint);
    pending
}

/// What the end of a stream says about Redis, when nothing was found after the checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All is persisted.
    AtCheckpoint,
    /// Redis is older than SQL.
    Before,
    /// Events after the checkpoint have come just now, or have vanished unread.
    After,
}

/// Compares the id of the newest event there ever was with the checkpoint.
pub fn end(checkpoint: EventId, last: EventId) -> End {
    match last.cmp(&checkpoint) {
        Ordering::Equal => End::AtCheckpoint,
        Ordering::Less => End::Before,
        Ordering::Greater => End::After,
    }
}

/// A batch that writes nothing but moves the checkpoint over events that have vanished.
pub fn skip(partition: Partition, from: EventId, to: EventId) -> Batch {
    Batch {
        partition,
        from,
        to,
        writes: Vec::new(),
        changed: Vec::new(),
        garbage: Vec::new(),
    }
}

/// Whether each entry names the one before it, the first the checkpoint. An entry in the middle that
/// says nothing was put there by hand; the one after it names it again.
fn follows(from: EventId, entries: &[StreamEntry]) -> bool {
    let mut before = from;
    for (place, entry) in entries.iter().enumerate() {
        let fits = match entry.previous() {
            Some(previous) => previous == before,
            None => place > 0,
        };
        if !fits {
            return false;
        }
        before = entry.id();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{LikeEvent, UserId};

    const PARTITION: Partition = Partition(3);

    fn id(sequence: u64) -> EventId {
        EventId {
            millis: 7,
            sequence,
        }
    }

    fn event(sequence: u64, activity: i64, user: i64, liked: bool) -> StreamEntry {
        StreamEntry::Event(LikeEvent {
            id: id(sequence),
            previous: id(sequence - 1),
            activity: ActivityId::new(activity).unwrap(),
            user: UserId::new(user).unwrap(),
            liked,
            at: Timestamp(i64::try_from(sequence).unwrap()),
        })
    }

    #[test]
    fn only_the_last_event_of_a_pair_counts() {
        let entries = [
            event(1, 5, 1, true),
            event(2, 5, 2, true),
            event(3, 5, 1, false),
            event(4, 5, 1, true),
        ];
        let plan = plan(PARTITION, id(0), &entries).unwrap();
        let writes: Vec<_> = plan
            .batch
            .writes
            .iter()
            .map(|w| (w.user.get(), w.liked_at))
            .collect();
        assert_eq!(writes, [(1, Some(Timestamp(4))), (2, Some(Timestamp(2)))]);
        assert_eq!(plan.newest, [(ActivityId::new(5).unwrap(), id(4))]);
        assert_eq!(plan.batch.to, id(4));
        assert!(!plan.doubt);
    }

    #[test]
    fn a_gap_raises_doubt_wherever_it_is() {
        let whole = [
            event(1, 5, 1, true),
            event(2, 5, 2, true),
            event(3, 5, 3, true),
        ];
        assert!(!plan(PARTITION, id(0), &whole).unwrap().doubt);
        assert!(plan(PARTITION, EventId::START, &whole).unwrap().doubt);
        assert!(
            plan(PARTITION, id(0), &[whole[0].clone(), whole[2].clone()])
                .unwrap()
                .doubt
        );
    }

    #[test]
    fn garbage_is_set_aside_and_does_not_hide_a_gap() {
        let garbage = |sequence| StreamEntry::Garbage {
            id: id(sequence),
            previous: None,
            payload: "x".to_owned(),
        };
        let middle = plan(
            PARTITION,
            id(0),
            &[event(1, 5, 1, true), garbage(2), event(3, 5, 1, false)],
        );
        let middle = middle.unwrap();
        assert_eq!(middle.batch.garbage.len(), 1);
        assert!(!middle.doubt);
        assert!(plan(PARTITION, id(0), &[garbage(1)]).unwrap().doubt);
    }

    #[test]
    fn an_empty_run_needs_no_plan() {
        assert_eq!(plan(PARTITION, id(0), &[]), None);
    }
}
