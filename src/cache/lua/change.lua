-- Toggles, likes or unlikes and appends the event, in one step.
-- Everything that can fail is read before the first write, since Redis does not roll back half a
-- script; and the first write is one that Redis refuses when its memory is full.
--
-- KEYS  1 set, 2 events, 3 pending, 4 once (only with an idempotency key)
-- ARGV  1 operation (toggle, like, unlike), 2 activity, 3 user, 4 the user's member, 5 the sentinel,
--       6 channel, 7 most events that may wait, 8 how many earliest likers to tell,
--       9 milliseconds to remember an idempotency key
-- Answers {outcome, liked, changed, count, rank, {sentinel, -version, liker, time, ...}}, where outcome is
--   0 miss: the set has to be rebuilt first    1 done, liked and changed say what
--   2 replayed: as 1, by a known key           3 conflict: the key was used for another operation
--   4 full: too many events wait
-- rank is 0 where the user does not like it; the list is empty where the set is missing.
assert((#KEYS == 3 or #KEYS == 4) and #ARGV == 9)
local set, events, pending, once = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local operation, activity, user, member, sentinel = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local function answer(outcome, liked, changed)
  local top = redis.call('ZRANGE', set, 0, ARGV[8], 'WITHSCORES')
  -- An absent member is false in Lua; the sentinel takes place 0, so a place is a rank.
  local rank = redis.call('ZRANK', set, member) or 0
  return {outcome, liked, changed, redis.call('ZCARD', set) - 1, rank, top}
end

local known = once and redis.call('GET', once)
if known then
  local done, liked, changed = string.match(known, '^(%a+) (%d) (%d)$')
  if done ~= operation then return {3, 0, 0, 0, 0, {}} end
  return answer(2, tonumber(liked), tonumber(changed))
end
local lowest = redis.call('ZSCORE', set, sentinel)
if not lowest then return {0, 0, 0, 0, 0, {}} end
local was = redis.call('ZSCORE', set, member) and 1 or 0
local liked = operation == 'toggle' and 1 - was or operation == 'like' and 1 or 0
if liked == was then
  if once then redis.call('SET', once, operation .. ' ' .. was .. ' 0', 'PX', ARGV[9]) end
  return answer(1, was, 0)
end
redis.call('HGET', pending, activity)
if redis.call('XLEN', events) >= tonumber(ARGV[7]) then return {4, 0, 0, 0, 0, {}} end
local previous = '0-0'
local info = redis.pcall('XINFO', 'STREAM', events)
for i = 1, #info, 2 do
  if info[i] == 'last-generated-id' then previous = info[i + 1] end
end

local now = redis.call('TIME')
local version = math.max(now[1] * 1000000 + now[2], 1 - tonumber(lowest))
local at = string.format('%.0f', version)
redis.call('ZADD', set, '-' .. at, sentinel)
if liked == 1 then redis.call('ZADD', set, at, member) else redis.call('ZREM', set, member) end
redis.call('PERSIST', set)
local id = redis.call('XADD', events, '*', 'prev', previous, 'activity', activity, 'user', user, 'liked', liked, 'at', at)
redis.call('HSET', pending, activity, id)
if once then redis.call('SET', once, operation .. ' ' .. liked .. ' 1', 'PX', ARGV[9]) end
redis.call('SPUBLISH', ARGV[6], activity .. ' ' .. at)
return answer(1, liked, 1)
