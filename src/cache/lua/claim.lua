-- Takes or prolongs a worker's lease on a partition. It spares needless work; the checkpoint fences.
--
-- KEYS  1 the worker's lease
-- ARGV  1 token, 2 milliseconds that the lease holds from now
-- Answers 0 another worker has it, 1 prolonged, 2 newly taken
assert(#KEYS == 1 and #ARGV == 2)
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return holder and 1 or 2
