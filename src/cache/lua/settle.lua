-- Notes that activities have no unpersisted event any more, so that their sets may expire.
-- An activity that has changed since keeps its newer event pending.
--
-- KEYS  1 pending, 2... the sets
-- ARGV  for each set: activity, id of its newest persisted event, milliseconds until the set expires
-- Answers how many were settled
assert(#KEYS >= 2 and #ARGV == 3 * (#KEYS - 1))
local settled = 0
for i = 2, #KEYS do
  local activity, id, expiry = unpack(ARGV, 3 * i - 5, 3 * i - 3)
  if redis.call('HGET', KEYS[1], activity) == id then
    redis.call('HDEL', KEYS[1], activity)
    redis.call('PEXPIRE', KEYS[i], expiry)
    settled = settled + 1
  end
end
return settled
