//! The same toggle as a transaction in SQL alone, which is what a service does that has no Redis: row and
//! counter, by `pgbench` over as many connections.

use std::process::Command;

use crate::load::Measured;
use crate::servers::Postgres;
use crate::world::World;

pub fn toggles(world: &World, activities: u32, seconds: u32, connections: u32) -> Measured {
    let users = world.users;
    let script = format!(
        "\\set activity random(1, {activities})
        \\set user random(1, {users})
        WITH gone AS (
            DELETE FROM activities_likes WHERE activity_id = :activity AND user_id = :user RETURNING 1
        ), new AS (
            INSERT INTO activities_likes (activity_id, user_id, liked_at)
            SELECT :activity, :user, now() WHERE NOT EXISTS (SELECT FROM gone)
            ON CONFLICT DO NOTHING RETURNING 1
        )
        UPDATE activities SET like_count = like_count + (SELECT count(*) FROM new) - (SELECT count(*) FROM gone),
            likes_changed_at = now()
        WHERE id = :activity;"
    );
    let file = world.folder.path().join("direct.sql");
    let log = world.folder.path().join("direct");
    std::fs::write(
        &file,
        script
            .replace('\n', " ")
            .replace(" \\set", "\n\\set")
            .replace(" WITH", "\nWITH"),
    )
    .unwrap();
    let before = world.cpu();
    let output = Command::new(Postgres::program("pgbench"))
        .args(["--no-vacuum", "--protocol=prepared", "--log"])
        .arg(format!("--log-prefix={}", log.display()))
        .arg(format!("--client={connections}"))
        .arg(format!("--time={seconds}"))
        .arg(format!("--file={}", file.display()))
        .arg(&world.database)
        .output()
        .unwrap();
    let after = world.cpu();
    let said = String::from_utf8(output.stdout).unwrap();
    let rate = said.lines().find(|line| line.starts_with("tps = "));
    let rate = rate.unwrap_or_else(|| panic!("{said} {}", String::from_utf8_lossy(&output.stderr)));
    let rate: f64 = rate.split_whitespace().nth(2).unwrap().parse().unwrap();
    let mut times = latencies(world);
    times.sort_unstable();
    let at = |percent: usize| {
        #[expect(clippy::cast_precision_loss, reason = "microseconds of one request")]
        let micros = times[(times.len() - 1) * percent / 100] as f64;
        micros / 1000.0
    };
    #[expect(clippy::cast_precision_loss, reason = "requests of one run")]
    let each = |part: usize| (after[part] - before[part]) * 1e6 / times.len() as f64;
    Measured {
        rate,
        p50: at(50),
        p99: at(99),
        cpu: [0.0, 0.0, each(2)],
    }
}

/// Microseconds of each transaction, from the logs that pgbench leaves; and removes the logs.
fn latencies(world: &World) -> Vec<u64> {
    let mut times = Vec::new();
    for entry in std::fs::read_dir(world.folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with("direct.") && name != "direct.sql" {
            let log = std::fs::read_to_string(&path).unwrap();
            let time = |line: &str| line.split(' ').nth(2).unwrap().parse::<u64>().unwrap();
            times.extend(log.lines().map(time));
            std::fs::remove_file(&path).unwrap();
        }
    }
    times
}
