//! Logs and metrics: the set-up, and the name of every metric.

mod logs;
mod recorder;

pub use logs::init_logs;
pub use recorder::recorder;

/// Changes asked for; labels `operation` and `result` (changed, unchanged, replayed, conflict, `not_found`, unavailable).
pub const CHANGES: &str = "likewise_changes_total";
/// Activities looked up in Redis; label `result` (hit, miss, pending, unavailable).
pub const CACHE_READS: &str = "likewise_cache_reads_total";
/// Statements that read SQL for all requests that wanted something like it; label `of` (looks, likers, users, activities).
pub const SQL_BATCHES: &str = "likewise_sql_batches_total";
/// Requests for which they were; label `of`.
pub const SQL_BATCHED: &str = "likewise_sql_batched_reads_total";
/// Rebuilds of sets; label `result` (committed, lost, gone, failed).
pub const REBUILDS: &str = "likewise_rebuilds_total";
/// Seconds that a rebuild took.
pub const REBUILD_SECONDS: &str = "likewise_rebuild_seconds";
/// Activities whose `like_count` was not the number of their rows, noticed while rebuilding.
pub const COUNT_DRIFTS: &str = "likewise_count_drifts_total";
/// Events persisted to SQL.
pub const EVENTS_PERSISTED: &str = "likewise_events_persisted_total";
/// Events in one batch of the worker.
pub const BATCH_EVENTS: &str = "likewise_worker_batch_events";
/// Batches that failed and are tried again.
pub const WORKER_FAILURES: &str = "likewise_worker_failures_total";
/// Events not yet persisted, over the partitions that this process works on.
pub const BACKLOG: &str = "likewise_events_backlog";
/// Age of the oldest event not yet persisted.
pub const OLDEST_EVENT_SECONDS: &str = "likewise_oldest_event_age_seconds";
/// Events set aside; label `reason`.
pub const DEAD_LETTERS: &str = "likewise_dead_letters_total";
/// Times that a partition's sets were dropped because Redis came back older than SQL.
pub const DOUBTS: &str = "likewise_partition_doubts_total";
/// 1 for the durability that is set; label `mode` (aof, fsync).
pub const DURABILITY: &str = "likewise_durability";
/// Requests over HTTP; labels `path`, `status`.
pub const HTTP_REQUESTS: &str = "likewise_http_requests_total";
/// Seconds until the answer; label `path`.
pub const HTTP_SECONDS: &str = "likewise_http_request_seconds";
/// Requests refused because their sender did too much of late.
pub const RATE_LIMITED: &str = "likewise_rate_limited_total";
/// Requests refused for asking too much; label `limit`.
pub const REQUESTS_REFUSED: &str = "likewise_requests_refused_total";
/// Connections over HTTP.
pub const HTTP_CONNECTIONS: &str = "likewise_http_connections";
/// WebSockets that are open.
pub const SOCKETS: &str = "likewise_sockets_open";
/// Subscriptions that watch activities.
pub const LIVE_WATCHERS: &str = "likewise_subscriptions_open";
/// Results sent to subscribers; label `transport` (websocket, sse).
pub const LIVE_MESSAGES: &str = "likewise_subscription_messages_total";
/// Times that the link on which Redis tells of changes broke.
pub const LIVE_RELINKS: &str = "likewise_changes_link_breaks_total";
