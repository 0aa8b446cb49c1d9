CREATE TABLE activities_likes (
    activity_id bigint NOT NULL REFERENCES activities (id) ON DELETE CASCADE,
    user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- The score in Redis, to the microsecond: a rebuilt list is the same list.
    liked_at timestamptz NOT NULL,
    PRIMARY KEY (activity_id, user_id)
);

-- The likers of an activity in order.
CREATE INDEX activities_likes_in_order ON activities_likes (activity_id, liked_at, user_id);
-- What a user likes, in order.
CREATE INDEX activities_likes_of_user ON activities_likes (user_id, liked_at, activity_id);
