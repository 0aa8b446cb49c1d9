//! `make bench`: how fast the service is, as ratios of what was measured in the same run on the same
//! machine. One server, real Redis and Postgres, load by `wrk` and `pgbench`.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a measurement that cannot go on ends, and a panic says where"
)]

mod cpu;
mod direct;
mod load;
#[path = "../support/servers/mod.rs"]
#[expect(dead_code, unused_imports, reason = "shared with the tests")]
mod servers;
mod world;

use clap::Parser;
use load::Measured;
use world::World;

/// Measures the service and prints a table. Figures of different runs do not compare, ratios do.
#[derive(Debug, Parser)]
struct Arguments {
    /// How long each measurement takes
    #[arg(long, default_value = "5", value_name = "SECONDS")]
    seconds: u32,

    /// How many connections ask at once
    #[arg(long, default_value = "16", value_name = "NUMBER")]
    connections: u32,

    /// How many users, activities and likes there are
    #[arg(long, default_values = ["10000", "2000", "400000"], num_args = 3, value_names = ["USERS", "ACTIVITIES", "LIKES"])]
    size: Vec<String>,
}

/// All like fields of a page of activities, as a feed shows them.
fn feed(first: u32) -> String {
    format!(
        "{{ activities(first: {first}) {{ nodes {{ id title author {{ name }} likeCount isLiked likeRank \
         likesChangedAt topLikers(first: 3) {{ name }} }} }} }}"
    )
}

fn main() {
    let arguments = Arguments::parse();
    let world = World::start(&arguments.size);
    load::warm(&world, arguments.connections);
    println!(
        "{} users, {} activities, {} likes; {} connections, {} s each\n",
        arguments.size[0],
        arguments.size[1],
        arguments.size[2],
        arguments.connections,
        arguments.seconds
    );
    println!(
        "{:<34} {:>9} {:>8} {:>8} {:>30}",
        "", "per s", "p50 ms", "p99 ms", "CPU us each: api, redis, sql"
    );
    let wrk = |name: &str, script: &str| {
        let measured = load::wrk(&world, script, arguments.seconds, arguments.connections);
        show(name, &measured);
        measured
    };
    let health = wrk("GET /livez", &load::get("/livez"));
    let one = wrk(
        "query { viewer { id } }",
        &load::query(&world, "{ viewer { id } }"),
    );
    wrk("feed of 5", &load::query(&world, &feed(5)));
    let twenty = wrk("feed of 20", &load::query(&world, &feed(20)));
    let hundred = wrk("feed of 100", &load::query(&world, &feed(100)));
    let spread = wrk(
        "toggleLike over all activities",
        &load::toggle(&world, world.activities),
    );
    let hot = wrk("toggleLike on one activity", &load::toggle(&world, 1));
    world.catch_up();
    let direct = |name: &str, activities: u32| {
        let measured =
            direct::toggles(&world, activities, arguments.seconds, arguments.connections);
        show(name, &measured);
        measured
    };
    let sql_spread = direct("the same in SQL alone, over all", world.activities);
    let sql_hot = direct("the same in SQL alone, on one", 1);

    println!("\nRatios");
    let ratio = |name: &str, a: f64, b: f64| println!("  {name:<62} {:>7.2}", a / b);
    ratio(
        "toggles a second: likewise / SQL alone, over all activities",
        spread.rate,
        sql_spread.rate,
    );
    ratio(
        "toggles a second: likewise / SQL alone, on one hot activity",
        hot.rate,
        sql_hot.rate,
    );
    ratio(
        "CPU of the database a toggle: SQL alone / likewise, over all",
        sql_spread.cpu[2],
        spread.cpu[2],
    );
    ratio(
        "CPU of the database a toggle: SQL alone / likewise, on one",
        sql_hot.cpu[2],
        hot.cpu[2],
    );
    ratio(
        "toggles a second: one hot activity / over all",
        hot.rate,
        spread.rate,
    );
    ratio(
        "CPU of the API: a feed of 20 / a query of one field",
        twenty.cpu[0],
        one.cpu[0],
    );
    ratio(
        "CPU of the API: a feed of 100 / a feed of 20",
        hundred.cpu[0],
        twenty.cpu[0],
    );
    ratio(
        "requests a second: /livez / a toggle",
        health.rate,
        spread.rate,
    );
    println!("\nMemory");
    println!("  API node           {:>8.1} MiB", world.api_memory());
    println!(
        "  Redis, all sets    {:>8.1} MiB, {:.0} bytes a like",
        world.sets_memory().0,
        world.sets_memory().1
    );
}

fn show(name: &str, it: &Measured) {
    println!(
        "{name:<34} {:>9.0} {:>8.2} {:>8.2} {:>14.0} {:>7.0} {:>7.0}",
        it.rate, it.p50, it.p99, it.cpu[0], it.cpu[1], it.cpu[2]
    );
}
