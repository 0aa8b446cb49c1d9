-- Tells where a partition's stream ends, and lifts the end to the checkpoint where it lies before it:
-- then Redis is older than SQL, no event has come since, and new ones must sort after the checkpoint.
-- All that is pending then has long been persisted.
--
-- KEYS  1 events, 2 pending
-- ARGV  1 milliseconds and 2 sequence of the checkpoint, 3 whether to lift (0, 1)
-- Answers the id of the last event before lifting, 0-0 if there was never one
assert(#KEYS == 2 and #ARGV == 3)
local last = '0-0'
if redis.call('EXISTS', KEYS[1]) == 1 then
  local info = redis.call('XINFO', 'STREAM', KEYS[1])
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then last = info[i + 1] end
  end
end
local millis, sequence = string.match(last, '^(%d+)-(%d+)$')
local wanted = tonumber(ARGV[1])
local before = tonumber(millis) < wanted
  or tonumber(millis) == wanted and tonumber(sequence) < tonumber(ARGV[2])
if ARGV[3] == '1' and before then
  local checkpoint = ARGV[1] .. '-' .. ARGV[2]
  if last == '0-0' then
    redis.call('XADD', KEYS[1], checkpoint, 'lifted', '1')
    redis.call('XTRIM', KEYS[1], 'MAXLEN', 0)
  else
    redis.call('XSETID', KEYS[1], checkpoint)
  end
  redis.call('DEL', KEYS[2])
end
return last
