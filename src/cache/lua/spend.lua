-- Takes from the allowances of one caller, from all of them or from none. An allowance fills up at a steady
-- rate; what is kept is the moment at which it will be full, in microseconds (the generic cell rate algorithm).
--
-- KEYS  any number of allowances
-- ARGV  for each: what to take, 0 for nothing; how many fill up in a second; how many it holds when full
-- Answers 0 taken, or how many milliseconds to wait
assert(#KEYS > 0 and #ARGV == 3 * #KEYS)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local full, wait = {}, 0
for i, key in ipairs(KEYS) do
  local count, rate, most = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
  if count > 0 then
    full[i] = math.max(tonumber(redis.call('GET', key) or now), now) + count * 1000000 / rate
    wait = math.max(wait, full[i] - now - most * 1000000 / rate)
  end
end
if wait > 0 then return math.ceil(wait / 1000) end
for i, key in ipairs(KEYS) do
  if full[i] then
    redis.call('SET', key, string.format('%.0f', full[i]), 'PX', math.ceil((full[i] - now) / 1000) + 1)
  end
end
return 0
