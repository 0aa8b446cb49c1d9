-- Takes the lease for rebuilding a set, if the set is missing and SQL alone is right about it.
-- A set without its sentinel cannot be trusted and counts as missing.
--
-- KEYS  1 set, 2 pending, 3 lease
-- ARGV  1 activity, 2 the sentinel, 3 token, 4 milliseconds that the lease holds
-- Answers 0 exists, 1 granted, 2 pending: events wait for the worker, 3 held by another rebuilder
assert(#KEYS == 3 and #ARGV == 4)
if redis.call('ZSCORE', KEYS[1], ARGV[2]) then return 0 end
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then return 2 end
if not redis.call('SET', KEYS[3], ARGV[3], 'NX', 'PX', ARGV[4]) then return 3 end
redis.call('UNLINK', KEYS[1])
return 1
