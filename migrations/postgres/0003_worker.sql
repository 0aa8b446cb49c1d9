-- How far each partition's events are persisted. Moved in the transaction that writes them.
CREATE TABLE like_checkpoints (
    partition integer PRIMARY KEY,
    -- As Redis writes it, `millis-sequence`: both parts go up to 2^64, past what a bigint holds.
    last_id text NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now()
);

-- Events that could not be persisted, for the operator.
CREATE TABLE like_dead_letters (
    partition integer NOT NULL,
    event_id text NOT NULL,
    reason text NOT NULL,
    payload text NOT NULL,
    set_aside_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (partition, event_id)
);
