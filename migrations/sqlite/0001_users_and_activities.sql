CREATE TABLE users (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    subject TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    avatar_url TEXT,
    -- All times are microseconds since 1970.
    created_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000000 AS INTEGER))
) STRICT;

CREATE TABLE activities (
    -- AUTOINCREMENT never hands out a key twice: an event still under way for a deleted activity
    -- must not find a new one under its key.
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    author_id INTEGER REFERENCES users (id) ON DELETE SET NULL,
    created_at INTEGER NOT NULL,
    -- No check that this is not negative: a drifted count must be found and healed, and a worker
    -- that cannot write it would block every event behind it.
    like_count INTEGER NOT NULL DEFAULT 0,
    likes_changed_at INTEGER
) STRICT;

-- The feed by likes, read in either direction.
CREATE INDEX activities_most_liked ON activities (like_count DESC, id DESC);
-- Deleting a user looks up what they made.
CREATE INDEX activities_of_author ON activities (author_id);
