//! The whole service for one test: real Redis, a real database, API nodes over HTTP, and workers that
//! run only when the test says so.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use clap::Parser;
use likewise::app::App;
use likewise::config::{Access, Process, Secret, Server, Storage, Worker as WorkerSettings};
use likewise::domain::ActivityId;
use likewise::http::auth::{Grant, sign};
use likewise::shutdown::Shutdown;
use likewise::worker::{Place, Step, Worker};
use serde_json::{Value, json};

use crate::servers::Redis;
use crate::store::{Kind, World};

const SECRET: &str = "a secret that only the tests know of";
/// Partitions of the databases that the tests make.
const PARTITIONS: &str = "8";

/// All fields about likes of an activity.
pub const LIKES: &str =
    "id likeCount isLiked likeRank likesChangedAt topLikers(first: 50) { name }";

/// The settings as a user would give them.
#[derive(Debug, Parser)]
pub struct Settings {
    #[command(flatten)]
    pub storage: Storage,
    #[command(flatten)]
    pub server: Server,
    #[command(flatten)]
    pub access: Access,
    #[command(flatten)]
    pub worker: WorkerSettings,
    #[command(flatten)]
    pub process: Process,
}

/// A Redis, a database and nodes.
pub struct Service {
    pub world: World,
    pub redis: Redis,
    pub node: Node,
    pub arguments: Vec<String>,
    client: reqwest::Client,
}

/// One API node, and the parts it is made of.
pub struct Node {
    pub app: App,
    pub api: SocketAddr,
    pub metrics: SocketAddr,
    pub settings: Settings,
    shutdown: Shutdown,
}

/// Somebody with a token.
#[derive(Debug, Clone)]
pub struct User {
    pub name: String,
    pub token: String,
}

/// What the API says of an activity's likes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    pub count: i64,
    pub liked: bool,
    pub rank: Option<i64>,
    pub changed_at: Option<String>,
    pub top: Vec<String>,
}

impl Service {
    /// Starts everything except a worker.
    pub async fn start(kind: Kind) -> Self {
        Self::start_with(kind, Redis::start(), &[]).await
    }

    /// The same with this Redis and more settings, such as `["--cache-ttl", "1s"]`.
    pub async fn start_with(kind: Kind, redis: Redis, arguments: &[&str]) -> Self {
        // The first test of a process installs it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let world = World::new(kind).await;
        let mut all: Vec<String> = ["likewise", "--partitions", PARTITIONS]
            .map(Into::into)
            .into();
        all.extend(["--database-url".into(), world.address.clone()]);
        all.extend(["--redis-url".into(), redis.url()]);
        all.extend(["--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"].map(Into::into));
        all.extend(["--jwt-secret", SECRET].map(Into::into));
        all.extend(arguments.iter().map(ToString::to_string));
        let node = Node::start(&all).await;
        Self {
            world,
            redis,
            node,
            arguments: all,
            client: reqwest::Client::new(),
        }
    }

    /// One more node on the same Redis and database.
    pub async fn another_node(&self) -> Node {
        Node::start(&self.arguments).await
    }

    /// Ends the node and starts one anew, with nothing in its memory.
    pub async fn restart_node(&mut self) {
        let fresh = self.another_node().await;
        std::mem::replace(&mut self.node, fresh).stop().await;
    }

    /// Sends a document; the whole answer.
    pub async fn send(&self, node: &Node, user: Option<&User>, body: Value) -> Value {
        let mut request = self.client.post(node.url()).json(&body);
        if let Some(user) = user {
            request = request.bearer_auth(&user.token);
        }
        request.send().await.unwrap().json().await.unwrap()
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
        let answer = self
            .try_change(&self.node, mutation, user, activity, key)
            .await;
        assert_eq!(answer.get("errors"), None, "{mutation} {answer}");
        answer["data"][mutation].clone()
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
        let query = format!(
            "mutation($input: LikeInput!) {{
                {mutation}(input: $input) {{ liked changed activity {{ {LIKES} }} }} }}"
        );
        let input = json!({ "activityId": activity, "idempotencyKey": key });
        let body = json!({ "query": query, "variables": { "input": input } });
        self.send(node, Some(user), body).await
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
        let query = format!("query($id: ID!) {{ activity(id: $id) {{ {LIKES} }} }}");
        let data = self.query(viewer, &query, json!({ "id": activity })).await;
        Details::of(&data["activity"])
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
        let client = redis::Client::open(self.redis.url()).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
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

    /// After the worker has caught up: API, Redis, rows and the counter of an activity say the same,
    /// and so does a set that is rebuilt from SQL. Answers what they say.
    pub async fn at_rest(&self, activity: &str) -> Details {
        self.persist().await;
        let warm = self.details(None, activity).await;
        let set = self.redis_key("set", activity);
        let _: i64 = self.redis(&["DEL", &set]).await;
        let cold = self.details(None, activity).await;
        assert_eq!(warm, cold, "Redis and SQL differ");
        let key = key_of(activity);
        let rows = format!("SELECT COUNT(*) FROM activities_likes WHERE activity_id = {key}");
        let counter = format!("SELECT like_count FROM activities WHERE id = {key}");
        assert_eq!(self.world.number(&rows).await, warm.count);
        assert_eq!(self.world.number(&counter).await, warm.count);
        warm
    }
}

impl Node {
    async fn start(arguments: &[String]) -> Self {
        let settings = Settings::parse_from(arguments);
        let shutdown = Shutdown::new(Duration::from_secs(10));
        let app = App::open(&settings.storage).await.unwrap();
        let Settings {
            server,
            access,
            process,
            ..
        } = &settings;
        let addresses = app
            .serve(server, access, process, None, &shutdown)
            .await
            .unwrap();
        Self {
            app,
            api: addresses.api,
            metrics: addresses.metrics,
            settings,
            shutdown,
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}/graphql", self.api)
    }

    /// Starts a worker beside the API.
    pub fn work(&self) {
        self.app.work(&self.settings.worker, &self.shutdown);
    }

    pub async fn stop(self) {
        self.shutdown.begin();
        self.shutdown.finish().await.unwrap();
    }
}

impl Details {
    pub fn of(activity: &Value) -> Self {
        let top = activity["topLikers"].as_array().unwrap();
        Self {
            count: activity["likeCount"].as_i64().unwrap(),
            liked: activity["isLiked"].as_bool().unwrap(),
            rank: activity["likeRank"].as_i64(),
            changed_at: activity["likesChangedAt"].as_str().map(Into::into),
            top: top
                .iter()
                .map(|user| user["name"].as_str().unwrap().to_owned())
                .collect(),
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

/// Somebody with a name, who gets a row with the first change.
pub fn user(name: &str) -> User {
    let grant = Grant {
        subject: name,
        name: Some(name),
        picture: None,
        issuer: None,
        audience: None,
        issued_at: SystemTime::now(),
        ttl: Duration::from_hours(1),
    };
    User {
        name: name.to_owned(),
        token: sign(&Secret::from(SECRET.to_owned()), &grant).unwrap(),
    }
}

/// The key behind a global id.
pub fn key_of(id: &str) -> ActivityId {
    use base64::Engine;
    let text = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .decode(id)
        .unwrap();
    let text = String::from_utf8(text).unwrap();
    text.strip_prefix("Activity:").unwrap().parse().unwrap()
}

/// The global id of a key.
pub fn id_of(key: i64) -> String {
    use base64::Engine;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(format!("Activity:{key}"))
}
