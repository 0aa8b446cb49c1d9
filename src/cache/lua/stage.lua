-- Adds one page of likers to the set being rebuilt and prolongs the lease.
--
-- KEYS  1 lease, 2 staging
-- ARGV  1 token, 2 milliseconds that lease and staging hold from now, 3... time, member, time, member, ...
-- Answers 1 done, 0 lost: the lease is not this rebuilder's any more
assert(#KEYS == 2 and #ARGV >= 4 and #ARGV % 2 == 0)
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('ZADD', KEYS[2], unpack(ARGV, 3))
redis.call('PEXPIRE', KEYS[2], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
