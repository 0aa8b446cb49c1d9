-- Runs reading commands in one step where MULTI is refused: a Redis whose memory is full queues nothing.
--
-- KEYS  the keys that the commands read
-- ARGV  for each command: how many words it has, then its words
-- Answers what each command answered, in order
assert(#KEYS >= 1 and #ARGV >= 2)
local answers, at = {}, 1
while at <= #ARGV do
  local words = tonumber(ARGV[at])
  answers[#answers + 1] = redis.call(unpack(ARGV, at + 1, at + words))
  at = at + words + 1
end
return answers
