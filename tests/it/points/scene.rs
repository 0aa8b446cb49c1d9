//! A service in which everything that a point stands for is about to happen: sets are missing, leases
//! are held, events wait, have vanished or belong to what was deleted, and Redis seems older than SQL.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use likewise::domain::Partition;
use serde_json::{Value, json};

use super::child::Child;
use crate::servers::Redis;
use crate::service::{Service, User, id_of, key_of, user};
use crate::store::Kind;

const PATIENCE: Duration = Duration::from_secs(30);
const PARTITIONS: u16 = 8;

/// What clients want, each under an idempotency key of its own.
struct Wish {
    mutation: &'static str,
    user: &'static str,
    activity: String,
}

/// A service and the activities that play a part.
pub struct Scene {
    service: Service,
    client: reqwest::Client,
    /// By part, each in a partition of its own.
    parts: BTreeMap<&'static str, String>,
    wishes: Vec<Wish>,
}

impl Scene {
    pub async fn set(kind: Kind) -> Self {
        let service = Service::start_with(kind, Redis::start(), &[]).await;
        let parts = parts(&service).await;
        for (part, names) in [
            ("cold", &["Ada", "Bob"][..]),
            ("before", &["Ada"]),
            ("after", &["Ada"]),
            ("quiet", &["Bob"]),
        ] {
            for name in names {
                service.like(&user(name), &parts[part]).await;
            }
        }
        service.persist().await;
        let scene = Self {
            wishes: wishes(&parts),
            client: reqwest::Client::new(),
            service,
            parts,
        };
        scene.damage().await;
        scene
    }

    /// Lets all happen that workers, rebuilds and reconciling are there for.
    async fn damage(&self) {
        let service = &self.service;
        let key = |name, part: &str| service.redis_key(name, &self.parts[part]);
        let _: i64 = service.redis(&["DEL", &key("set", "cold")]).await;
        let _: i64 = service.redis(&["DEL", &key("set", "held")]).await;
        let (ada, bob) = (user("Ada"), user("Bob"));
        service.like(&ada, &self.parts["doubt"]).await;
        service.like(&bob, &self.parts["doubt"]).await;
        let events = key("events", "doubt");
        let entries: Vec<(String, Vec<String>)> =
            service.redis(&["XRANGE", &events, "-", "+"]).await;
        let _: i64 = service.redis(&["XDEL", &events, &entries[0].0]).await;

        let _: i64 = service.redis(&["DEL", &key("events", "before")]).await;
        let events = key("events", "after");
        let id: String = service.redis(&["XADD", &events, "*", "by", "hand"]).await;
        let _: i64 = service.redis(&["XDEL", &events, &id]).await;

        service.like(&ada, &self.parts["gone"]).await;
        let gone = key_of(&self.parts["gone"]);
        let statement = format!("DELETE FROM activities WHERE id = {gone}");
        service.world.execute(&statement).await;

        let quiet = key_of(&self.parts["quiet"]);
        let statement = format!("UPDATE activities SET like_count = 7 WHERE id = {quiet}");
        service.world.execute(&statement).await;
        let set = key("set", "quiet");
        let _: i64 = service.redis(&["ZADD", &set, "5", "a9"]).await;
        let partitions = service.node.app.cache().partitions();
        let orphan = (900_000..).find(|&id| {
            let orphan = key_of(&id_of(id));
            partitions.of(orphan) == partitions.of(quiet)
        });
        let set = service.redis_key("set", &id_of(orphan.unwrap()));
        let _: i64 = service.redis(&["ZADD", &set, "0", "-"]).await;
    }

    /// The settings of a command on this service.
    pub fn arguments(&self, command: &str) -> Vec<String> {
        self.service.arguments(&self.service.world.address, command)
    }

    /// Sends what clients want, each as often as it takes, but only once to what does not answer at all.
    pub async fn storm(&self, api: SocketAddr) -> Vec<Value> {
        let mut answers = Vec::new();
        for (number, wish) in self.wishes.iter().enumerate() {
            let user = user(wish.user);
            if wish.activity == self.parts["held"] {
                let lease = self.service.redis_key("lease", &wish.activity);
                let hold = ["SET", &lease, "another's", "PX", "500"];
                let _: String = self.service.redis(&hold).await;
            }
            let deadline = Instant::now() + PATIENCE;
            while Instant::now() < deadline {
                let answer = self.send(api, &user, wish, number).await;
                let Some(answer) = answer else { break };
                if answer["errors"][0]["extensions"]["code"] != "UNAVAILABLE" {
                    answers.push(answer);
                    break;
                }
            }
        }
        answers
    }

    async fn send(
        &self,
        api: SocketAddr,
        user: &User,
        wish: &Wish,
        number: usize,
    ) -> Option<Value> {
        let mutation = wish.mutation;
        let query = format!(
            "mutation($input: LikeInput!) {{ {mutation}(input: $input) {{ liked changed }} }}"
        );
        let key = format!("wish {number}");
        let input = json!({ "activityId": wish.activity, "idempotencyKey": key });
        let body = json!({ "query": query, "variables": { "input": input } });
        let request = self.client.post(format!("http://{api}/graphql"));
        let request = request.bearer_auth(&user.token).json(&body);
        request.send().await.ok()?.json().await.ok()
    }

    /// Whether all is persisted before the process ends.
    pub async fn wait_for_workers(&self, child: &mut Child) -> bool {
        let deadline = Instant::now() + PATIENCE;
        while child.runs() {
            assert!(Instant::now() < deadline, "workers do not come to rest");
            if self.nothing_waits().await {
                // Idle partitions are looked at every second.
                tokio::time::sleep(Duration::from_millis(1200)).await;
                return child.runs();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        false
    }

    async fn nothing_waits(&self) -> bool {
        for partition in 0..PARTITIONS {
            let key = |name| format!("{{likes:{partition}}}:{name}");
            let pending: i64 = self.service.redis(&["HLEN", &key("pending")]).await;
            let events: i64 = self.service.redis(&["XLEN", &key("events")]).await;
            if pending + events > 0 {
                return false;
            }
        }
        true
    }

    /// Lets the leases of a dead worker end, as they do by themselves within seconds.
    pub async fn let_leases_end(&self) {
        for partition in 0..PARTITIONS {
            let key = format!("{{likes:{partition}}}:worker");
            let _: i64 = self.service.redis(&["DEL", &key]).await;
        }
    }

    /// API, Redis and SQL say the same, and what users wanted has happened once.
    pub async fn check(&self, point: &str, answers: &[Value]) {
        assert_eq!(answers.len(), self.wishes.len(), "{point}: {answers:?}");
        for (wish, answer) in self.wishes.iter().zip(answers) {
            let code = &answer["errors"][0]["extensions"]["code"];
            let is_unknown = wish.activity == unknown();
            assert_eq!(code == "NOT_FOUND", is_unknown, "{point}: {answer}");
            let changed = &answer["data"][wish.mutation]["changed"];
            assert!(is_unknown || changed == true, "{point}: {answer}");
        }
        for (part, activity) in self.parts.iter().filter(|(part, _)| **part != "gone") {
            let details = self.service.at_rest(activity).await;
            let wanted: &[&str] = match *part {
                "cold" => &["Bob", "Cy"],
                "held" | "before" | "after" => &["Ada"],
                "quiet" => &["Bob"],
                // One like has vanished by hand.
                _ => &["Bob", "Cy"],
            };
            assert_eq!(details.top, wanted, "{point}: {part}");
        }
    }
}

/// Makes activities, and picks one of a partition of its own for each part.
async fn parts(service: &Service) -> BTreeMap<&'static str, String> {
    let names = ["cold", "held", "doubt", "before", "after", "gone", "quiet"];
    let partitions = service.node.app.cache().partitions();
    let mut free: BTreeMap<Partition, String> = BTreeMap::new();
    while free.len() < names.len() {
        let activity = service.activity().await;
        free.entry(partitions.of(key_of(&activity)))
            .or_insert(activity);
    }
    names.into_iter().zip(free.into_values()).collect()
}

fn wishes(parts: &BTreeMap<&'static str, String>) -> Vec<Wish> {
    let wish = |mutation, user, activity: &str| Wish {
        mutation,
        user,
        activity: activity.to_owned(),
    };
    vec![
        wish("likeActivity", "Cy", &parts["cold"]),
        wish("unlikeActivity", "Ada", &parts["cold"]),
        wish("toggleLike", "Ada", &parts["held"]),
        wish("likeActivity", "Cy", &parts["doubt"]),
        wish("likeActivity", "Ada", &unknown()),
    ]
}

fn unknown() -> String {
    id_of(123_456_789)
}
