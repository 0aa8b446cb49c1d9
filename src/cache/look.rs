//! Reads: one round trip for a whole batch. Native commands in one MULTI, since a script that loops
//! costs Redis twice as much.

use std::collections::HashMap;

use redis::{Arg, Pipeline, RedisError, Value};

use super::keys::member;
use super::{Cache, Error, Result, decoded, liker, state};
use crate::domain::{ActivityId, LikeState, Liker, Look, Page, Slice, UserId};

/// What the commands of a pipeline answered, in order.
pub(super) type Answers = std::vec::IntoIter<Value>;

/// Entries of a list as Redis answers them, members with scores.
type Scored = Vec<(String, f64)>;

impl Cache {
    /// The likes of activities as of one moment; None where the set is missing.
    ///
    /// # Errors
    /// Redis is away or holds what this program never writes.
    pub async fn look(
        &self,
        activities: &[ActivityId],
        viewer: Option<UserId>,
        look: Look,
    ) -> Result<HashMap<ActivityId, Option<LikeState>>> {
        let place = if look.rank { "ZRANK" } else { "ZSCORE" };
        let mut pipe = redis::pipe();
        for &activity in activities {
            let set = self.keys.set(activity);
            pipe.cmd("ZRANGE")
                .arg(&set)
                .arg(0)
                .arg(look.top)
                .arg("WITHSCORES");
            pipe.zcard(&set);
            if let Some(viewer) = viewer {
                pipe.cmd(place).arg(&set).arg(member(viewer));
            }
        }
        let mut answers = self.atomic(pipe).await?;
        let mut found = HashMap::with_capacity(activities.len());
        for &activity in activities {
            let lowest: Scored = next(&mut answers)?;
            let members = next(&mut answers)?;
            let place: Option<f64> = match viewer {
                Some(_) => next(&mut answers)?,
                None => None,
            };
            let rank = place
                .filter(|_| look.rank)
                .map(|place| super::micros(place).0);
            found.insert(activity, state(&lowest, members, place.is_some(), rank)?);
        }
        Ok(found)
    }

    /// The same page of the likers of each activity as of one moment, earliest first; None where the set is missing.
    ///
    /// # Errors
    /// Redis is away or holds what this program never writes.
    pub async fn likers(
        &self,
        activities: &[ActivityId],
        page: &Page<Liker>,
    ) -> Result<HashMap<ActivityId, Option<Slice<Liker>>>> {
        let mut pipe = redis::pipe();
        for &activity in activities {
            let set = self.keys.set(activity);
            pipe.cmd("ZRANGE").arg(&set).arg(0).arg(0).arg("WITHSCORES");
            range(&mut pipe, &set, page);
        }
        let mut answers = self.atomic(pipe).await?;
        let mut found = HashMap::with_capacity(activities.len());
        for &activity in activities {
            let lowest: Scored = next(&mut answers)?;
            let slice = slice(page, &mut answers)?;
            let whole = state(&lowest, 1, false, None)?.is_some();
            found.insert(activity, whole.then_some(slice));
        }
        Ok(found)
    }

    /// Runs reading commands as one transaction in one round trip; answers in order. Each has its key for
    /// its first argument.
    pub(super) async fn atomic(&self, mut pipe: Pipeline) -> Result<Answers> {
        if pipe.is_empty() {
            return Ok(Vec::new().into_iter());
        }
        let mut connection = self.pool.connection().await?;
        let answers = pipe.atomic().query_async(&mut connection).await;
        let answers: Vec<Value> = match answers {
            Err(error) if is_full(&error) => {
                let mut call = self.scripts.each.prepare_invoke();
                for command in pipe.cmd_iter() {
                    let words = command.args_iter().filter_map(|word| match word {
                        Arg::Simple(word) => Some(word),
                        _ => None,
                    });
                    call.arg(words.clone().count());
                    for (place, word) in words.enumerate() {
                        if place == 1 {
                            call.key(word);
                        }
                        call.arg(word);
                    }
                }
                call.invoke_async(&mut connection).await?
            }
            answers => answers?,
        };
        Ok(answers.into_iter())
    }
}

/// Whether Redis refuses to queue commands because its memory is full.
fn is_full(error: &RedisError) -> bool {
    matches!(error.code(), Some("OOM" | "EXECABORT"))
}

/// The next answer of a pipeline.
pub(super) fn next<T: redis::FromRedisValue>(answers: &mut Answers) -> Result<T> {
    let answer = answers.next();
    decoded(answer.ok_or_else(|| Error::Unexpected("too few answers".to_owned()))?)
}

/// The cursor at the end from which the page is taken.
fn start(page: &Page<Liker>) -> Option<Liker> {
    if page.take.is_first() {
        page.after
    } else {
        page.before
    }
}

/// Asks for one liker more than the page takes, from the page's own end. Redis seeks by score alone, so
/// a cursor asks twice: for those of its very microsecond, usually itself alone, and for those beyond.
pub(super) fn range(pipe: &mut Pipeline, set: &str, page: &Page<Liker>) {
    let first = page.take.is_first();
    let limit = page.take.limit() + 1;
    let Some(cursor) = start(page) else {
        if first {
            pipe.cmd("ZRANGE")
                .arg(set)
                .arg(1)
                .arg(limit)
                .arg("WITHSCORES");
        } else {
            pipe.cmd("ZRANGE")
                .arg(set)
                .arg(0)
                .arg(limit - 1)
                .arg("REV")
                .arg("WITHSCORES");
        }
        return;
    };
    let at = cursor.at.0;
    let (beyond, end) = if first {
        (format!("({at}"), "+inf")
    } else {
        (format!("({at}"), "(0")
    };
    for (from, to, limit) in [
        (at.to_string(), at.to_string(), -1),
        (
            beyond,
            end.to_owned(),
            i64::try_from(limit).unwrap_or(i64::MAX),
        ),
    ] {
        let command = pipe.cmd("ZRANGE").arg(set).arg(from).arg(to).arg("BYSCORE");
        if !first {
            command.arg("REV");
        }
        command.arg("LIMIT").arg(0).arg(limit).arg("WITHSCORES");
    }
}

/// Reads what `range` asked for.
pub(super) fn slice(page: &Page<Liker>, answers: &mut Answers) -> Result<Slice<Liker>> {
    let mut listed: Scored = next(answers)?;
    if start(page).is_some() {
        listed.extend(next::<Scored>(answers)?);
    }
    let mut likers = Vec::with_capacity(listed.len());
    for (member, score) in listed
        .iter()
        .filter(|(member, _)| member != super::SENTINEL)
    {
        let liker = liker(member, *score)?;
        let after = page.after.is_none_or(|after| liker > after);
        let before = page.before.is_none_or(|before| liker < before);
        if after && before {
            likers.push(liker);
        }
    }
    likers.truncate(page.take.limit() + 1);
    Ok(Slice::of(page, likers))
}
