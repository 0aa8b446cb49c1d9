-- Drops a set that was found to differ from SQL, if nothing has happened to it since and SQL alone is right.
--
-- KEYS  1 set, 2 pending
-- ARGV  1 activity, 2 the sentinel, 3 the version that was looked at (empty: no sentinel was there)
-- Answers 1 dropped, 0 it has changed since or events wait
assert(#KEYS == 2 and #ARGV == 3)
local lowest = redis.call('ZSCORE', KEYS[1], ARGV[2])
local version = lowest and string.format('%.0f', -lowest) or ''
if version ~= ARGV[3] or redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then return 0 end
return redis.call('UNLINK', KEYS[1])
