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
    describe_counter!(
        CHANGES,
        Unit::Count,
        "Changes asked for, by operation and result."
    );
    describe_counter!(
        CACHE_READS,
        Unit::Count,
        "Activities looked up in Redis, by result."
    );
    describe_counter!(
        SQL_BATCHES,
        Unit::Count,
        "Reads of the database that several requests may have shared, by what was read."
    );
    describe_counter!(
        SQL_BATCHED,
        Unit::Count,
        "Requests that shared those reads, by what was read."
    );
    describe_counter!(REBUILDS, Unit::Count, "Rebuilds of sets, by result.");
    describe_histogram!(
        REBUILD_SECONDS,
        Unit::Seconds,
        "Time that a rebuild of a set took."
    );
    describe_counter!(
        COUNT_DRIFTS,
        Unit::Count,
        "Activities whose like_count was not the number of their rows."
    );
    describe_counter!(
        EVENTS_PERSISTED,
        Unit::Count,
        "Events persisted to the database."
    );
    describe_histogram!(
        BATCH_EVENTS,
        Unit::Count,
        "Events in a batch of the worker."
    );
    describe_counter!(
        WORKER_FAILURES,
        Unit::Count,
        "Batches that failed and are tried again."
    );
    describe_gauge!(
        BACKLOG,
        Unit::Count,
        "Events not yet persisted, in the partitions of this process."
    );
    describe_gauge!(
        OLDEST_EVENT_SECONDS,
        Unit::Seconds,
        "Age of the oldest event not yet persisted."
    );
    describe_counter!(DEAD_LETTERS, Unit::Count, "Events set aside, by reason.");
    describe_counter!(
        DOUBTS,
        Unit::Count,
        "Times that a partition's sets were dropped because Redis came back older than the database."
    );
    describe_gauge!(HTTP_CONNECTIONS, Unit::Count, "Connections over HTTP.");
    describe_gauge!(
        DURABILITY,
        Unit::Count,
        "When likes are acknowledged: in Redis (aof) or on its disk (fsync)."
    );
    describe_counter!(
        HTTP_REQUESTS,
        Unit::Count,
        "Requests over HTTP, by path and status."
    );
    describe_counter!(
        RATE_LIMITED,
        Unit::Count,
        "Requests refused because their sender did too much of late."
    );
    describe_counter!(
        REQUESTS_REFUSED,
        Unit::Count,
        "Requests refused for asking too much, by the limit that they passed."
    );
    describe_histogram!(
        HTTP_SECONDS,
        Unit::Seconds,
        "Time until the answer to a request, by path."
    );
    describe_gauge!(SOCKETS, Unit::Count, "WebSockets that are open.");
    describe_gauge!(
        LIVE_WATCHERS,
        Unit::Count,
        "Subscriptions that watch activities."
    );
    describe_counter!(
        LIVE_MESSAGES,
        Unit::Count,
        "Results sent to subscribers, by transport."
    );
    describe_counter!(
        LIVE_RELINKS,
        Unit::Count,
        "Times that the link on which Redis tells of changes broke."
    );
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
