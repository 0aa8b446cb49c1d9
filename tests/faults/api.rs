//! The public API, as a client sees it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};

use crate::plan::NODES;
use crate::record::{Action, Answer, Outcome, Seen};

/// A client waits so long, then the outcome is unknown.
const PATIENCE: Duration = Duration::from_secs(3);
/// Of answers that nobody should get, so many are kept.
const MOST_STRANGE: usize = 20;

/// Somebody with a token.
pub struct User {
    pub token: String,
}

/// A liker as a list tells it: key of the user, and time in microseconds.
pub type Listed = (i64, i64);

/// Both nodes.
pub struct Api {
    client: reqwest::Client,
    nodes: Vec<String>,
    strange: Mutex<Vec<String>>,
}

impl Api {
    pub fn new(ports: &[u16]) -> Self {
        // The first to come installs it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().timeout(PATIENCE);
        Self {
            client: client.build().unwrap(),
            nodes: ports
                .iter()
                .map(|port| format!("http://127.0.0.1:{port}"))
                .collect(),
            strange: Mutex::default(),
        }
    }

    /// Answers that neither a client's mistake nor a fault explains.
    pub fn strange(&self) -> Vec<String> {
        self.strange.lock().unwrap().clone()
    }

    /// Whether a node says that it is ready.
    pub async fn is_ready(&self, node: usize) -> bool {
        let answer = self
            .client
            .get(format!("{}/readyz", self.nodes[node]))
            .send()
            .await;
        answer.is_ok_and(|answer| answer.status().is_success())
    }

    /// Toggles, likes or unlikes; `top` asks for the earliest likers as well.
    pub async fn change(
        &self,
        node: usize,
        user: &User,
        action: Action,
        activity: &str,
        key: Option<u64>,
        top: bool,
    ) -> Outcome {
        let mutation = match action {
            Action::Toggle | Action::Read => "toggleLike",
            Action::Like => "likeActivity",
            Action::Unlike => "unlikeActivity",
        };
        let fields = fields(top);
        let query = format!(
            "mutation($input: LikeInput!) {{
                change: {mutation}(input: $input) {{ liked changed activity {{ {fields} }} }} }}"
        );
        let key = key.map(|key| format!("key {key}"));
        let variables = json!({ "input": { "activityId": activity, "idempotencyKey": key } });
        self.outcome(node, user, &query, variables, |data| {
            let change = &data["change"];
            Some(Answer {
                liked: change["liked"].as_bool()?,
                changed: change["changed"].as_bool()?,
                seen: Some(seen(&change["activity"])?),
            })
        })
        .await
    }

    /// Looks at the likes of an activity.
    pub async fn read(&self, node: usize, user: &User, activity: &str, top: bool) -> Outcome {
        let query = format!(
            "query($id: ID!) {{ activity(id: $id) {{ {} }} }}",
            fields(top)
        );
        self.outcome(node, user, &query, json!({ "id": activity }), |data| {
            let seen = seen(&data["activity"])?;
            Some(Answer {
                liked: seen.liked,
                changed: false,
                seen: Some(seen),
            })
        })
        .await
    }

    /// All likers in order, page by page.
    pub async fn likers(&self, node: usize, activity: &str) -> Option<Vec<Listed>> {
        let query = "query($id: ID!, $after: String) { activity(id: $id) {
            likers(first: 100, after: $after) {
                edges { likedAt node { id } } pageInfo { hasNextPage endCursor } } } }";
        let (mut listed, mut after) = (Vec::new(), Value::Null);
        loop {
            let variables = json!({ "id": activity, "after": after });
            let answer = self.send(node, None, query, variables).await.ok()?;
            let page = &answer["data"]["activity"]["likers"];
            for edge in page["edges"].as_array()? {
                let key = crate::world::key_of("User:", edge["node"]["id"].as_str()?);
                listed.push((key, micros(edge["likedAt"].as_str()?)?));
            }
            if !page["pageInfo"]["hasNextPage"].as_bool()? {
                return Some(listed);
            }
            after = page["pageInfo"]["endCursor"].clone();
        }
    }

    /// The id of a new activity.
    pub async fn create_activity(&self, author: &User, title: &str) -> String {
        let query = "mutation($title: String!) {
            createActivity(input: { title: $title }) { activity { id } } }";
        let answer = self
            .send(0, Some(author), query, json!({ "title": title }))
            .await
            .unwrap();
        let id = &answer["data"]["createActivity"]["activity"]["id"];
        id.as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// The id of a user, who is made if needed.
    pub async fn viewer(&self, user: &User) -> String {
        let answer = self
            .send(0, Some(user), "{ viewer { id } }", json!({}))
            .await
            .unwrap();
        let id = &answer["data"]["viewer"]["id"];
        id.as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    async fn outcome(
        &self,
        node: usize,
        user: &User,
        query: &str,
        variables: Value,
        read: impl FnOnce(&Value) -> Option<Answer>,
    ) -> Outcome {
        let answer = match self.send(node, Some(user), query, variables).await {
            Ok(answer) => answer,
            Err(error) if error.is_connect() => return Outcome::Refused,
            Err(_) => return Outcome::Unknown,
        };
        let Some(error) = answer["errors"].get(0) else {
            let Some(mut done) = read(&answer["data"]) else {
                self.note(&answer);
                return Outcome::Unknown;
            };
            if answer["extensions"]["likes"]["complete"] == false {
                done.seen = None;
            }
            return Outcome::Done(done);
        };
        let extensions = &error["extensions"];
        match (extensions["code"].as_str(), extensions["outcome"].as_str()) {
            (Some("UNAVAILABLE"), Some("not_applied")) => Outcome::Refused,
            (Some("UNAVAILABLE"), Some("unknown")) => Outcome::Unknown,
            (Some("CONFLICT"), _) => Outcome::Conflict,
            _ => {
                self.note(&answer);
                Outcome::Unknown
            }
        }
    }

    async fn send(
        &self,
        node: usize,
        user: Option<&User>,
        query: &str,
        variables: Value,
    ) -> reqwest::Result<Value> {
        let body = json!({ "query": query, "variables": variables });
        let url = format!("{}/graphql", self.nodes[node % NODES.end]);
        let mut request = self.client.post(url).json(&body);
        if let Some(user) = user {
            request = request.bearer_auth(&user.token);
        }
        request.send().await?.json().await
    }

    fn note(&self, answer: &Value) {
        let mut strange = self.strange.lock().unwrap();
        if strange.len() < MOST_STRANGE {
            strange.push(answer.to_string());
        }
    }
}

fn fields(top: bool) -> String {
    let top = if top {
        "topLikers(first: 3) { id }"
    } else {
        ""
    };
    format!("likeCount isLiked likesChangedAt {top}")
}

fn seen(activity: &Value) -> Option<Seen> {
    let version = match &activity["likesChangedAt"] {
        Value::Null => 0,
        at => micros(at.as_str()?)?,
    };
    Some(Seen {
        liked: activity["isLiked"].as_bool()?,
        count: activity["likeCount"].as_i64()?,
        version,
        top: activity.get("topLikers").map(digest),
    })
}

fn micros(at: &str) -> Option<i64> {
    let at = chrono::DateTime::parse_from_rfc3339(at).ok()?;
    Some(at.timestamp_micros())
}

fn digest(top: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    top.to_string().hash(&mut hasher);
    hasher.finish()
}
