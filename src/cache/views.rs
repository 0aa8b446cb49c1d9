//! The likes of activities as many viewers see them, in one round trip.

use std::collections::HashMap;

use super::keys::member;
use super::look::next;
use super::{Cache, Result, micros, state};
use crate::domain::{ActivityId, Look, UserId, Views};

impl Cache {
    /// The likes of each activity as of one moment, without a viewer and for each of the viewers;
    /// None where the set is missing. What all see is read once, whatever the number of viewers.
    ///
    /// # Errors
    /// Redis is away or holds what this program never writes.
    pub async fn views(
        &self,
        wanted: &[(ActivityId, Vec<UserId>)],
        look: Look,
    ) -> Result<HashMap<ActivityId, Option<Views>>> {
        let mut pipe = redis::pipe();
        for (activity, viewers) in wanted {
            let set = self.keys.set(*activity);
            pipe.cmd("ZRANGE")
                .arg(&set)
                .arg(0)
                .arg(look.top)
                .arg("WITHSCORES");
            pipe.zcard(&set);
            if look.rank {
                for viewer in viewers {
                    pipe.cmd("ZRANK").arg(&set).arg(member(*viewer));
                }
            } else if !viewers.is_empty() {
                let members: Vec<_> = viewers.iter().copied().map(member).collect();
                pipe.cmd("ZMSCORE").arg(&set).arg(members);
            }
        }
        let mut answers = self.atomic(pipe).await?;
        let mut found = HashMap::with_capacity(wanted.len());
        for (activity, viewers) in wanted {
            let lowest: Vec<(String, f64)> = next(&mut answers)?;
            let members = next(&mut answers)?;
            let places: Vec<Option<f64>> = if look.rank {
                let places = viewers.iter().map(|_| next(&mut answers));
                places.collect::<Result<_>>()?
            } else if viewers.is_empty() {
                Vec::new()
            } else {
                next(&mut answers)?
            };
            let liked_by = viewers.iter().zip(places).filter_map(|(viewer, place)| {
                let place = micros(place?).0;
                Some((*viewer, look.rank.then_some(place)))
            });
            let state = state(&lowest, members, false, None)?;
            let views = state.map(|state| Views::new(state, liked_by));
            found.insert(*activity, views);
        }
        Ok(found)
    }
}
