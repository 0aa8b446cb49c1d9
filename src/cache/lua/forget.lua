-- Forgets everything about the likes of a deleted activity. Events under way will find it gone.
--
-- KEYS  1 set, 2 pending, 3 lease
-- ARGV  1 activity
-- Answers 1
assert(#KEYS == 3 and #ARGV == 1)
redis.call('UNLINK', KEYS[1])
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('DEL', KEYS[3])
return 1
