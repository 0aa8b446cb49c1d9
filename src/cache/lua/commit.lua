-- Renames a rebuilt set into place, if nothing has happened that the rebuilder did not see. The staged
-- likers are counted, because a memory limit may take staging away between two pages.
--
-- KEYS  1 set, 2 pending, 3 lease, 4 staging
-- ARGV  1 activity, 2 the sentinel, 3 token, 4 version, 5 milliseconds until the set expires,
--       6 how many likers were staged
-- Answers 1 committed, 0 lost: the lease or staging has gone, the set is there already, or events wait
assert(#KEYS == 4 and #ARGV == 6)
local own = redis.call('GET', KEYS[3]) == ARGV[3]
local whole = redis.call('ZCARD', KEYS[4]) == tonumber(ARGV[6])
if not own or not whole or redis.call('EXISTS', KEYS[1]) == 1 or redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then
  redis.call('UNLINK', KEYS[4])
  if own then redis.call('DEL', KEYS[3]) end
  return 0
end
redis.call('ZADD', KEYS[4], '-' .. ARGV[4], ARGV[2])
redis.call('RENAME', KEYS[4], KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
redis.call('DEL', KEYS[3])
return 1
