//! The one invariant: if a set exists, it equals the rows plus the events not yet persisted; if it does
//! not exist and nothing of it is pending, SQL alone is right.

use std::collections::BTreeMap;

use likewise::domain::{ActivityId, EventId, Timestamp, UserId};

use super::data::{Entries, Value};
use super::sql::Likes;
use super::wire::State;
use super::world::{World, stream};

/// An event of the stream.
struct Event {
    id: EventId,
    before: EventId,
    activity: ActivityId,
    user: UserId,
    liked: bool,
    at: Timestamp,
}

/// Checks what must be true at every moment. While the stream itself shows that Redis is older than SQL,
/// the workers know, and the sets may be old until they have dropped them.
pub fn hold(world: &World) -> Result<(), String> {
    let mut state = world.wire.state();
    let checkpoint = state.rows.checkpoint;
    let (events, last) = events(&mut state);
    let unread: Vec<_> = events
        .iter()
        .filter(|event| event.id > checkpoint)
        .collect();
    let mut before = checkpoint;
    let mut is_doubtful = last < checkpoint;
    for event in &unread {
        is_doubtful |= event.before != before;
        before = event.id;
    }
    is_doubtful |= last > before;
    if is_doubtful {
        return Ok(());
    }
    for (activity, rows) in &state.rows.activities {
        let mut wanted = rows.clone();
        let own = || unread.iter().filter(|event| event.activity == *activity);
        for event in own() {
            if event.liked {
                wanted.likers.insert(event.user, event.at);
            } else {
                wanted.likers.remove(&event.user);
            }
            wanted.changed_at = wanted.changed_at.max(Some(event.at));
        }
        let newest = own().map(|event| event.id).max();
        let pending = pending(&state, *activity);
        if newest.is_some() && pending != newest {
            return Err(format!(
                "pending of {activity} is {pending:?}, not {newest:?}"
            ));
        }
        let set = set(&state, *activity);
        let wanted_version = wanted.changed_at.map_or(0, |at| at.0);
        if let Some((version, likers)) = set
            && (likers != wanted.likers || version != wanted_version)
        {
            return Err(format!(
                "the set of {activity} is {likers:?} in version {version}, not {wanted:?}"
            ));
        }
        if let Some(intended) = &world.wanted {
            for ((_, user), liked) in intended.iter().filter(|((it, _), _)| it == activity) {
                if wanted.likers.contains_key(user) != *liked {
                    return Err(format!("what {user} did to {activity} is lost"));
                }
            }
        }
    }
    counts(&state)
}

/// Checks what must be true when everybody has finished.
pub fn at_rest(world: &mut World) -> Result<(), String> {
    let mut state = world.wire.state();
    let checkpoint = state.rows.checkpoint;
    if state.redis.keys.contains_key("{likes:0}:pending") {
        return Err("something is pending".to_owned());
    }
    let (events, last) = events(&mut state);
    if !events.is_empty() || last != checkpoint && last != EventId::START {
        return Err(format!(
            "the stream is not persisted: {last} after {checkpoint}"
        ));
    }
    for (activity, rows) in &state.rows.activities {
        let Some((version, likers)) = set(&state, *activity) else {
            continue;
        };
        if likers != rows.likers || version != rows.changed_at.map_or(0, |at| at.0) {
            return Err(format!(
                "{activity} has {likers:?} in Redis, {rows:?} in SQL"
            ));
        }
        if !state.redis.keys[&format!("{{likes:0}}:set:{activity}")].expires {
            return Err(format!("the set of {activity} stays for ever"));
        }
    }
    counts(&state)
}

fn counts(state: &State) -> Result<(), String> {
    let wrong = |likes: &&Likes| usize::try_from(likes.count) != Ok(likes.likers.len());
    match state.rows.activities.values().find(wrong) {
        Some(likes) => Err(format!("like_count is wrong: {likes:?}")),
        None => Ok(()),
    }
}

fn events(state: &mut State) -> (Vec<Event>, EventId) {
    let none = (&mut Entries::new(), EventId::START);
    let (entries, last) = stream(&mut state.redis).unwrap_or(none);
    let event = |(id, fields): &(EventId, Vec<(String, String)>)| {
        let field = |name| &fields.iter().find(|(it, _)| it == name).unwrap().1;
        Event {
            id: *id,
            before: field("prev").parse().unwrap(),
            activity: field("activity").parse().unwrap(),
            user: field("user").parse().unwrap(),
            liked: field("liked") == "1",
            at: Timestamp(field("at").parse().unwrap()),
        }
    };
    (entries.iter().map(event).collect(), last)
}

fn pending(state: &State, activity: ActivityId) -> Option<EventId> {
    match &state.redis.keys.get("{likes:0}:pending")?.value {
        Value::Hash(pending) => Some(pending.get(&activity.to_string())?.parse().unwrap()),
        other => panic!("{other:?} is no hash"),
    }
}

/// The version and the likers of a set.
fn set(state: &State, activity: ActivityId) -> Option<(i64, BTreeMap<UserId, Timestamp>)> {
    let key = format!("{{likes:0}}:set:{activity}");
    let Value::Set(members) = &state.redis.keys.get(&key)?.value else {
        panic!("{key} is no set");
    };
    let likers = members.iter().filter(|(member, _)| *member != "-");
    let liker = |(member, at): (&String, &i64)| (member[1..].parse().unwrap(), Timestamp(*at));
    Some((-*members.get("-")?, likers.map(liker).collect()))
}
