-- How far each partition's events are persisted. Moved in the transaction that writes them.
CREATE TABLE like_checkpoints (
    partition INTEGER PRIMARY KEY,
    -- As Redis writes it, `millis-sequence`: both parts go up to 2^64, past what an INTEGER holds.
    last_id TEXT NOT NULL,
    updated_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER))
) STRICT;

-- Events that could not be persisted, for the operator.
CREATE TABLE like_dead_letters (
    partition INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    reason TEXT NOT NULL,
    payload TEXT NOT NULL,
    set_aside_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER)),
    PRIMARY KEY (partition, event_id)
) STRICT;
