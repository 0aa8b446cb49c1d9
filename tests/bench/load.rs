//! Load by `wrk`, and what it says.

use std::process::Command;

use serde_json::json;

use crate::world::World;

/// What was measured.
pub struct Measured {
    /// Requests a second.
    pub rate: f64,
    /// Milliseconds.
    pub p50: f64,
    pub p99: f64,
    /// Microseconds of CPU a request: API, Redis, SQL.
    pub cpu: [f64; 3],
}

/// A script that gets a path.
pub fn get(path: &str) -> String {
    format!("wrk.path = '{path}'")
}

/// A script that sends one query, as the first demo user.
pub fn query(world: &World, query: &str) -> String {
    let body = json!({ "query": query }).to_string();
    format!("{}\nwrk.body = [==[{body}]==]", head(world))
}

/// A script that toggles likes of the first so many activities, as many users.
pub fn toggle(world: &World, activities: u32) -> String {
    let mutation = "mutation($i: LikeInput!) { toggleLike(input: $i) { liked changed activity { likeCount \
                    isLiked likesChangedAt } } }";
    let ids = world.ids[..activities as usize].join("','");
    let tokens = world.tokens.join("','");
    let body = json!({ "query": mutation, "variables": { "i": { "activityId": "ACTIVITY" } } });
    format!(
        "{}
        local ids = {{'{ids}'}}
        local tokens = {{'{tokens}'}}
        local body = [==[{body}]==]
        -- wrk's dice always begin alike.
        math.randomseed(os.time())
        request = function()
            wrk.headers['Authorization'] = 'Bearer ' .. tokens[math.random(#tokens)]
            return wrk.format(nil, nil, nil, (body:gsub('ACTIVITY', ids[math.random(#ids)])))
        end",
        head(world)
    )
}

fn head(world: &World) -> String {
    let token = &world.tokens[0];
    format!(
        "wrk.method = 'POST'; wrk.path = '/graphql'
        wrk.headers['Content-Type'] = 'application/json'
        wrk.headers['Authorization'] = 'Bearer {token}'"
    )
}

/// Runs a script for so long.
pub fn wrk(world: &World, script: &str, seconds: u32, connections: u32) -> Measured {
    // Connections are opened before it counts.
    run(world, script, 1, connections);
    let before = world.cpu();
    let said = run(world, script, seconds, connections);
    let after = world.cpu();
    assert!(!said.contains("Non-2xx"), "{said}");
    let requests = number(&said, "requests in", 0);
    let each = |part: usize| (after[part] - before[part]) * 1e6 / requests;
    Measured {
        rate: number(&said, "Requests/sec:", 1),
        p50: milliseconds(&said, "50%"),
        p99: milliseconds(&said, "99%"),
        cpu: [each(0), each(1), each(2)],
    }
}

/// Reads and changes everything until each activity has its set.
pub fn warm(world: &World, connections: u32) {
    let script = toggle(world, world.activities);
    while world.sets().len() < world.ids.len() {
        run(world, &script, 1, connections);
    }
    world.catch_up();
}

fn run(world: &World, script: &str, seconds: u32, connections: u32) -> String {
    let file = world.folder.path().join("load.lua");
    std::fs::write(&file, script).unwrap();
    let output = Command::new("wrk")
        .args(["-t1", "--latency"])
        .arg(format!("-c{connections}"))
        .arg(format!("-d{seconds}s"))
        .arg("-s")
        .arg(&file)
        .arg(&world.url)
        .output()
        .expect("make bench installs wrk");
    String::from_utf8(output.stdout).unwrap()
}

fn word<'a>(said: &'a str, mark: &str, place: usize) -> &'a str {
    let line = said.lines().find(|line| match mark {
        // The spread of another line may be the same per cent.
        "50%" | "99%" => line.trim_start().starts_with(mark),
        _ => line.contains(mark),
    });
    let line = line.unwrap_or_else(|| panic!("no {mark} in {said}"));
    line.split_whitespace().nth(place).unwrap()
}

fn number(said: &str, mark: &str, place: usize) -> f64 {
    word(said, mark, place).parse().unwrap()
}

fn milliseconds(said: &str, mark: &str) -> f64 {
    let text = word(said, mark, 1);
    let digits = text.trim_end_matches(char::is_alphabetic);
    let factor = match &text[digits.len()..] {
        "us" => 0.001,
        "ms" => 1.0,
        "s" => 1000.0,
        other => panic!("{other} is no unit of wrk"),
    };
    digits.parse::<f64>().unwrap() * factor
}
