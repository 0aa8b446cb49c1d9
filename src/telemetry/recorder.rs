//! Collects the metrics and says what each one counts.

use std::sync::{Mutex, PoisonError};

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use super::{
    BACKLOG, BATCH_EVENTS, CACHE_READS, CHANGES, COUNT_DRIFTS, DEAD_LETTERS, DOUBTS, DURABILITY,
    EVENTS_PERSISTED, HTTP_CONNECTIONS, HTTP_REQUESTS, HTTP_SECONDS, LIVE_MESSAGES, LIVE_RELINKS,
    LIVE_WATCHERS, OLDEST_EVENT_SECONDS, RATE_LIMITED, REBUILD_SECONDS, REBUILDS, REQUESTS_REFUSED,
    SOCKETS, SQL_BATCHED, SQL_BATCHES, WORKER_FAILURES,
};

/// From half a millisecond, where Redis answers, to the time a request may take.
const SECONDS: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];
/// From a lone event to the largest batch that can be set.
const EVENTS: [f64; 10] = [
    1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0, 100_000.0,
];

/// What each one counts.
const COUNTERS: &[(&str, &str)] = &[
    (CHANGES, "Changes asked for, by operation and result."),
    (CACHE_READS, "Activities looked up in Redis, by result."),
    (
        SQL_BATCHES,
        "Reads of the database that several requests may have shared, by what was read.",
    ),
    (
        SQL_BATCHED,
        "Requests that shared those reads, by what was read.",
    ),
    (REBUILDS, "Rebuilds of sets, by result."),
    (
        COUNT_DRIFTS,
        "Activities whose like_count was not the number of their rows.",
    ),
    (EVENTS_PERSISTED, "Events persisted to the database."),
    (WORKER_FAILURES, "Batches that failed and are tried again."),
    (DEAD_LETTERS, "Events set aside, by reason."),
    (
        DOUBTS,
        "Times that a partition's sets were dropped because Redis came back older than the database.",
    ),
    (HTTP_REQUESTS, "Requests over HTTP, by path and status."),
    (
        RATE_LIMITED,
        "Requests refused because their sender did too much of late.",
    ),
    (
        REQUESTS_REFUSED,
        "Requests refused for asking too much, by the limit that they passed.",
    ),
    (LIVE_MESSAGES, "Results sent to subscribers, by transport."),
    (
        LIVE_RELINKS,
        "Times that the link on which Redis tells of changes broke.",
    ),
];
const GAUGES: &[(&str, Unit, &str)] = &[
    (
        BACKLOG,
        Unit::Count,
        "Events not yet persisted, in the partitions of this process.",
    ),
    (
        OLDEST_EVENT_SECONDS,
        Unit::Seconds,
        "Age of the oldest event not yet persisted.",
    ),
    (HTTP_CONNECTIONS, Unit::Count, "Connections over HTTP."),
    (
        DURABILITY,
        Unit::Count,
        "When likes are acknowledged: in Redis (aof) or on its disk (fsync).",
    ),
    (SOCKETS, Unit::Count, "WebSockets that are open."),
    (
        LIVE_WATCHERS,
        Unit::Count,
        "Subscriptions that watch activities.",
    ),
];
const HISTOGRAMS: &[(&str, Unit, &str)] = &[
    (
        REBUILD_SECONDS,
        Unit::Seconds,
        "Time that a rebuild of a set took.",
    ),
    (
        BATCH_EVENTS,
        Unit::Count,
        "Events in a batch of the worker.",
    ),
    (
        HTTP_SECONDS,
        Unit::Seconds,
        "Time until the answer to a request, by path.",
    ),
];

/// The process' collector of metrics, made when first asked for. Metrics are global by their nature.
///
/// # Errors
/// The process has a collector that is not ours.
pub fn recorder() -> Result<PrometheusHandle, BuildError> {
    static RECORDER: Mutex<Option<PrometheusHandle>> = Mutex::new(None);
    // Held until it is installed, so that of two at once the second finds the first one's.
    let mut recorder = RECORDER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = &*recorder {
        return Ok(handle.clone());
    }
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)?
        .set_buckets_for_metric(Matcher::Full(BATCH_EVENTS.to_owned()), &EVENTS)?
        .install_recorder()?;
    describe();
    Ok(recorder.insert(handle).clone())
}

fn describe() {
    for (name, text) in COUNTERS {
        describe_counter!(*name, Unit::Count, *text);
    }
    for (name, unit, text) in GAUGES {
        describe_gauge!(*name, *unit, *text);
    }
    for (name, unit, text) in HISTOGRAMS {
        describe_histogram!(*name, *unit, *text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_rendered_under_their_own_names_with_their_meaning() {
        let handle = recorder().unwrap();
        metrics::counter!(DOUBTS).increment(1);
        metrics::histogram!(REBUILD_SECONDS).record(0.002);
        metrics::histogram!(BATCH_EVENTS).record(20.0);
        let text = recorder().unwrap().render();
        for line in [
            "# HELP likewise_partition_doubts_total Times",
            "likewise_partition_doubts_total 1",
            "likewise_rebuild_seconds_bucket{le=\"0.0025\"} 1",
            "likewise_worker_batch_events_bucket{le=\"10\"} 0",
            "likewise_worker_batch_events_bucket{le=\"30\"} 1",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        handle.run_upkeep();
    }
}
