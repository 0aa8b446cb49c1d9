-- Gives a lease back before its time, and what was staged under it.
--
-- KEYS  1 lease, 2... staging (none for a worker's lease)
-- ARGV  1 token
-- Answers 1 given back, 0 it was not this holder's any more
assert(#KEYS >= 1 and #ARGV == 1)
for i = 2, #KEYS do redis.call('UNLINK', KEYS[i]) end
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
