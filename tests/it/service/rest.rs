//! What has to be true of an activity once the worker has caught up.

use std::collections::HashMap;

use futures::{StreamExt, stream};
use redis::streams::StreamRangeReply;

use super::{Details, Service, eventually, key_of, user};

/// Of more users than this, every so manieth is asked whether it likes the activity.
const ASKED: usize = 40;

/// An event that waits: who, whether it is a like, and when.
pub type Event = (String, bool, i64);

impl Service {
    /// Lets the worker catch up. Then everything says the same of an activity: the API, Redis, the rows
    /// and the counter, and the set that is rebuilt from SQL; and it follows from the events. Answers what they say.
    pub async fn at_rest(&self, activity: &str) -> Details {
        let expected = self.check_events(activity).await;
        self.persist().await;
        let members = self.members(activity).await;
        if let Some(mut expected) = expected {
            let mut members: Vec<_> = members.iter().map(|(user, _)| user.clone()).collect();
            members.sort();
            expected.sort();
            assert_eq!(
                members, expected,
                "the set is not the net effect of its events"
            );
        }
        let warm = self.details(None, activity).await;
        self.check_rows(activity, &members, &warm).await;
        self.check_viewers(activity, &members).await;

        let set = self.redis_key("set", activity);
        let expiry: i64 = self.redis(&["PTTL", &set]).await;
        assert!(expiry > 0, "a set at rest has an expiry, not {expiry}");
        let pending = self.redis_key("pending", activity);
        let key = key_of(activity).to_string();
        assert!(!self.redis::<bool>(&["HEXISTS", &pending, &key]).await);
        let seen = self.newest.lock().unwrap().get(activity).cloned();
        assert!(warm.changed_at >= seen, "likesChangedAt fell from {seen:?}");

        let _: i64 = self.redis(&["DEL", &set]).await;
        let cold = self.details(None, activity).await;
        assert_eq!(warm, cold, "Redis and SQL differ");
        assert_eq!(
            self.members(activity).await,
            members,
            "the rebuilt set differs"
        );
        warm
    }

    /// The events of an activity that wait, in order.
    pub async fn events(&self, activity: &str) -> Vec<Event> {
        let stream = self.redis_key("events", activity);
        let entries: StreamRangeReply = self.redis(&["XRANGE", &stream, "-", "+"]).await;
        let key = key_of(activity).to_string();
        let events = entries.ids.iter().filter_map(|entry| {
            let field = |name: &str| entry.get::<String>(name);
            field("activity").filter(|activity| *activity == key)?;
            let at = field("at")?.parse().ok()?;
            Some((field("user")?, field("liked")? == "1", at))
        });
        events.collect()
    }

    /// Members without the sentinel, in order, with their times, after a rebuild if the set is missing.
    pub async fn members(&self, activity: &str) -> Vec<(String, i64)> {
        let set = self.redis_key("set", activity);
        eventually("the set is there", async || {
            self.details(None, activity).await;
            self.redis::<bool>(&["EXISTS", &set]).await
        })
        .await;
        let all: Vec<(String, String)> =
            self.redis(&["ZRANGE", &set, "0", "-1", "WITHSCORES"]).await;
        let (sentinel, members) = all.split_first().unwrap();
        assert_eq!(sentinel.0, "-");
        let members = members.iter().map(|(member, score)| {
            let user = &member[1..];
            assert_eq!(
                member.as_bytes()[0],
                b'a' + u8::try_from(user.len()).unwrap() - 1
            );
            (user.to_owned(), score.parse().unwrap())
        });
        members.collect()
    }

    /// Each waiting event changes something: a user's likes and unlikes alternate, and times rise. Answers
    /// who likes the activity by these events, where none has been trimmed yet.
    async fn check_events(&self, activity: &str) -> Option<Vec<String>> {
        let mut last = 0;
        let mut likes = HashMap::new();
        for (user, liked, at) in self.events(activity).await {
            assert!(at > last, "times do not rise: {last}, {at}");
            let before = likes.insert(user.clone(), liked);
            assert_ne!(before, Some(liked), "an event of {user} without an effect");
            last = at;
        }
        let stream = self.redis_key("events", activity);
        let first: StreamRangeReply = self
            .redis(&["XRANGE", &stream, "-", "+", "COUNT", "1"])
            .await;
        let previous = first
            .ids
            .first()
            .and_then(|entry| entry.get::<String>("prev"));
        let is_whole = previous.as_deref() == Some("0-0");
        let liked = likes.into_iter().filter(|(_, liked)| *liked);
        is_whole.then(|| liked.map(|(user, _)| user).collect())
    }

    async fn check_rows(&self, activity: &str, members: &[(String, i64)], details: &Details) {
        let key = key_of(activity);
        let at = self.world.micros("liked_at");
        let rows = format!(
            "SELECT CAST(user_id AS text), CAST({at} AS text) FROM activities_likes
            WHERE activity_id = {key} ORDER BY activities_likes.liked_at, activities_likes.user_id"
        );
        let rows = self.world.pairs(&rows).await;
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(user, at)| (user, at.parse().unwrap()))
            .collect();
        assert_eq!(members, rows, "the set and the rows differ");
        let counter = format!("SELECT like_count FROM activities WHERE id = {key}");
        let count = i64::try_from(members.len()).unwrap();
        assert_eq!(self.world.number(&counter).await, count);
        assert_eq!(details.count, count);

        let names = "SELECT CAST(id AS text), name FROM users";
        let names: HashMap<_, _> = self.world.pairs(names).await.into_iter().collect();
        let top = members.iter().take(50).map(|(user, _)| names[user].clone());
        assert_eq!(details.top, top.collect::<Vec<_>>());
        let set = self.redis_key("set", activity);
        let lowest: String = self.redis(&["ZSCORE", &set, "-"]).await;
        let changed_at = details.changed_at_micros();
        assert_eq!(-lowest.parse::<i64>().unwrap(), changed_at);
        assert!(members.iter().all(|(_, at)| *at <= changed_at));
    }

    /// `isLiked` is true for members and for nobody else, and `likeRank` is their place.
    async fn check_viewers(&self, activity: &str, members: &[(String, i64)]) {
        let users = "SELECT CAST(id AS text), subject FROM users ORDER BY id";
        let users = self.world.pairs(users).await;
        let step = users.len().div_ceil(ASKED).max(1);
        let asked = stream::iter(users.into_iter().step_by(step)).map(async |(id, subject)| {
            let details = self.details(Some(&user(&subject)), activity).await;
            let place = members.iter().position(|(member, _)| *member == id);
            let rank = place.map(|place| i64::try_from(place).unwrap() + 1);
            assert_eq!(
                (details.liked, details.rank),
                (rank.is_some(), rank),
                "{subject}"
            );
        });
        asked.buffer_unordered(20).collect::<Vec<()>>().await;
    }
}
