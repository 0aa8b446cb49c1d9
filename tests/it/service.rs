//! The whole service for one test: real Redis, a real database, API nodes over HTTP, and workers that
//! run only when the test says so.

mod details;
mod documents;
mod node;
mod people;
mod rest;

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use likewise::worker::{Place, Step, Worker};
use redis::AsyncConnectionConfig;
use serde_json::{Value, json};

use crate::program::Program;
use crate::servers::Redis;
use crate::store::{Kind, World};
pub use details::Details;
pub use documents::{LIKES, change, toggles};
pub use node::{Node, Settings};
pub use people::SECRET;
pub use people::{User, id_of, key_of, user, user_id_of};

/// Partitions of the databases that the tests make.
const PARTITIONS: &str = "8";
/// A machine under load is slow; what takes longer than this has failed.
const PATIENCE: Duration = Duration::from_mins(1);

/// A Redis, a database and nodes.
pub struct Service {
    pub world: World,
    pub redis: Redis,
    pub node: Node,
    /// Where Redis and the database are, and how they are used.
    storage: Vec<String>,
    /// How the API is served.
    serving: Vec<String>,
    client: reqwest::Client,
    /// The newest `likesChangedAt` that was seen, by activity.
    newest: Mutex<HashMap<String, String>>,
}

impl Service {
    /// Starts everything except a worker.
    pub async fn start(kind: Kind) -> Self {
        Self::start_with(kind, Redis::start(), &[]).await
    }

    /// The same with this Redis and more settings of storage, such as `["--cache-ttl", "1s"]`.
    pub async fn start_with(kind: Kind, redis: Redis, arguments: &[&str]) -> Self {
        // The first test of a process installs it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let world = World::new(kind).await;
        let (address, url) = (world.address.clone(), redis.url());
        let mut storage = owned(&["--partitions", PARTITIONS]);
        storage.extend(owned(&["--database-url", &address, "--redis-url", &url]));
        storage.extend(owned(arguments));
        if !arguments.contains(&"--redis-timeout") {
            // Tests share few processors, and only some of them are about a Redis that is away.
            storage.extend(owned(&["--redis-timeout", "5s"]));
        }
        let mut serving = owned(&["--listen", "127.0.0.1:0", "--metrics-listen"]);
        serving.extend(owned(&["127.0.0.1:0", "--jwt-secret", SECRET]));
        // Hundreds of requests at once take long on a machine that has much else to do.
        serving.extend(owned(&["--request-timeout", "1m"]));
        // Many changes in one document keep tests short.
        serving.extend(owned(&["--max-mutations", "40", "--max-aliases", "40"]));
        serving.extend(owned(&["--max-root-fields", "40"]));
        let node = Node::start(&[storage.clone(), serving.clone()].concat()).await;
        Self {
            world,
            redis,
            node,
            storage,
            serving,
            client: reqwest::Client::new(),
            newest: Mutex::default(),
        }
    }

    /// One more node on the same Redis and this database, perhaps by another address.
    pub async fn node_at(&self, database: &str) -> Node {
        Node::start(&[self.storage_at(database), self.serving.clone()].concat()).await
    }

    /// One more node on the same database and Redis by another address.
    pub async fn node_by(&self, redis: &str) -> Node {
        let mut storage = self.storage.clone();
        let at = storage.iter().position(|it| *it == self.redis.url());
        redis.clone_into(&mut storage[at.unwrap()]);
        Node::start(&[storage, self.serving.clone()].concat()).await
    }

    /// A process of the program on the same Redis and database: `serve`, `worker` or `reconcile`.
    pub fn program(&self, command: &str, more: &[&str]) -> Program {
        self.program_at(&self.world.address, command, more)
    }

    /// The same with the database by another address.
    pub fn program_at(&self, database: &str, command: &str, more: &[&str]) -> Program {
        let mut arguments = self.arguments(database, command);
        arguments.extend(owned(more));
        Program::start(command, &arguments)
    }

    /// The settings of a command on the same Redis and a database.
    pub fn arguments(&self, database: &str, command: &str) -> Vec<String> {
        let mut arguments = self.storage_at(database);
        match command {
            "serve" => arguments.extend(self.serving.clone()),
            "worker" => arguments.extend(owned(&["--metrics-listen", "127.0.0.1:0"])),
            _ => {}
        }
        arguments
    }

    fn storage_at(&self, database: &str) -> Vec<String> {
        let storage = self.storage.iter();
        let other = |it: &String| {
            if *it == self.world.address {
                database.into()
            } else {
                it.clone()
            }
        };
        storage.map(other).collect()
    }

    /// Ends the node and starts one anew, with nothing in its memory.
    pub async fn restart_node(&mut self) {
        let fresh = self.node_at(&self.world.address).await;
        std::mem::replace(&mut self.node, fresh).stop().await;
    }

    /// Sends a document; the whole answer.
    pub async fn send(&self, node: &Node, user: Option<&User>, body: Value) -> Value {
        self.post(&node.url(), user, &body).await.unwrap()
    }

    /// Sends a document somewhere; an error if that is not there, or goes away before it has answered.
    pub async fn post(
        &self,
        url: &str,
        user: Option<&User>,
        body: &Value,
    ) -> reqwest::Result<Value> {
        let mut request = self.client.post(url).json(body);
        if let Some(user) = user {
            request = request.bearer_auth(&user.token);
        }
        request.send().await?.json().await
    }

    /// The data of a document that has no errors.
    pub async fn query(&self, user: Option<&User>, query: &str, variables: Value) -> Value {
        let body = json!({ "query": query, "variables": variables });
        let mut answer = self.send(&self.node, user, body).await;
        assert_eq!(answer.get("errors"), None, "{query} {answer}");
        answer["data"].take()
    }

    /// The code of the first error of a document.
    pub async fn code(&self, user: Option<&User>, query: &str, variables: Value) -> String {
        let body = json!({ "query": query, "variables": variables });
        let answer = self.send(&self.node, user, body).await;
        let code = &answer["errors"][0]["extensions"]["code"];
        code.as_str()
            .unwrap_or_else(|| panic!("no error: {answer}"))
            .to_owned()
    }

    /// A new activity of somebody who likes nothing; its global id.
    pub async fn activity(&self) -> String {
        let query = "mutation { createActivity(input: { title: \"T\" }) { activity { id } } }";
        let data = self.query(Some(&user("author")), query, json!({})).await;
        data["createActivity"]["activity"]["id"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Carries out `toggleLike`, `likeActivity` or `unlikeActivity`; the payload.
    pub async fn change(
        &self,
        mutation: &str,
        user: &User,
        activity: &str,
        key: Option<&str>,
    ) -> Value {
        let mut answer = self
            .try_change(&self.node, mutation, user, activity, key)
            .await;
        assert_eq!(answer.get("errors"), None, "{mutation} {answer}");
        let payload = answer["data"][mutation].take();
        self.saw(activity, &Details::of(&payload["activity"]));
        payload
    }

    /// The same over a node of choice; the whole answer.
    pub async fn try_change(
        &self,
        node: &Node,
        mutation: &str,
        user: &User,
        activity: &str,
        key: Option<&str>,
    ) -> Value {
        self.send(node, Some(user), change(mutation, activity, key))
            .await
    }

    /// The same with a key over the usual node.
    pub async fn try_keyed(&self, mutation: &str, user: &User, activity: &str, key: &str) -> Value {
        self.try_change(&self.node, mutation, user, activity, Some(key))
            .await
    }

    pub async fn toggle(&self, user: &User, activity: &str) -> Value {
        self.change("toggleLike", user, activity, None).await
    }

    pub async fn like(&self, user: &User, activity: &str) -> Value {
        self.change("likeActivity", user, activity, None).await
    }

    pub async fn unlike(&self, user: &User, activity: &str) -> Value {
        self.change("unlikeActivity", user, activity, None).await
    }

    /// What a query says right now.
    pub async fn details(&self, viewer: Option<&User>, activity: &str) -> Details {
        self.details_of(&self.node, viewer, activity).await
    }

    /// What a query says to a node right now.
    pub async fn details_of(&self, node: &Node, viewer: Option<&User>, activity: &str) -> Details {
        let query = format!("query($id: ID!) {{ activity(id: $id) {{ {LIKES} }} }}");
        let body = json!({ "query": query, "variables": { "id": activity } });
        let answer = self.send(node, viewer, body).await;
        assert_eq!(answer.get("errors"), None, "{answer}");
        let details = Details::of(&answer["data"]["activity"]);
        self.saw(activity, &details);
        details
    }

    fn saw(&self, activity: &str, details: &Details) {
        let Some(changed_at) = &details.changed_at else {
            return;
        };
        let mut newest = self.newest.lock().unwrap();
        let newest = newest.entry(activity.to_owned()).or_default();
        if *newest < *changed_at {
            newest.clone_from(changed_at);
        }
    }

    /// One step of a new worker on each partition, until nothing waits. Answers how many entries were persisted.
    pub async fn persist(&self) -> usize {
        drain(&self.worker(), &mut self.places()).await
    }

    /// A worker that does nothing by itself.
    pub fn worker(&self) -> Worker {
        self.node.app.worker(&self.node.settings.worker)
    }

    /// The beginning of a worker's way in each partition.
    pub fn places(&self) -> Vec<Place> {
        self.node
            .app
            .cache()
            .partitions()
            .all()
            .map(Place::new)
            .collect()
    }

    /// Runs one command of Redis, as redis-cli would.
    pub async fn redis<T: redis::FromRedisValue>(&self, command: &[&str]) -> T {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        let client = redis::Client::open(self.redis.url()).unwrap();
        let connection = client.get_multiplexed_async_connection_with_config(&config);
        let mut connection = connection.await.unwrap();
        let mut call = redis::cmd(command[0]);
        call.arg(&command[1..]);
        call.query_async(&mut connection).await.unwrap()
    }

    /// The key of an activity in Redis under a name: `set`, `lease`, or one of its partition: `events`, `pending`.
    pub fn redis_key(&self, name: &str, activity: &str) -> String {
        let activity = key_of(activity);
        let partition = self.node.app.cache().partitions().of(activity);
        match name {
            "set" | "lease" => format!("{{likes:{partition}}}:{name}:{activity}"),
            _ => format!("{{likes:{partition}}}:{name}"),
        }
    }
}

/// Steps of a worker until nothing waits.
pub async fn drain(worker: &Worker, places: &mut [Place]) -> usize {
    let mut persisted = 0;
    for place in places {
        loop {
            match worker.step(place).await.unwrap() {
                Step::Idle => break,
                Step::Persisted(entries) => persisted += entries,
                Step::Fenced | Step::Healed => {}
            }
        }
    }
    persisted
}

/// Asks until the answer is yes.
pub async fn eventually(what: &str, mut ask: impl AsyncFnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !ask().await {
        assert!(begun.elapsed() < PATIENCE, "still not: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn owned(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(ToString::to_string).collect()
}
