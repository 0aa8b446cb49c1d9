-- Takes or prolongs a worker's lease on a partition. It spares needless work; the checkpoint fences.
-- A Redis whose memory is full refuses a new lease. Work goes on without one then: it is what frees memory.
--
-- KEYS  1 the worker's lease
-- ARGV  1 token, 2 milliseconds that the lease holds from now
-- Answers 0 another worker has it, 1 prolonged, 2 newly taken, or to be done without
assert(#KEYS == 1 and #ARGV == 2)
local holder = redis.call('GET', KEYS[1])
if not holder then
  redis.pcall('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 2
end
return holder == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2]) or 0
