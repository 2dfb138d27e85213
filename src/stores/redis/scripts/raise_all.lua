-- Raises several fencing counters to one number.
-- Keys: the counters.
-- Argument: the proposal.
-- Answers: the new value of all counters, as text. It is one more than the highest of the counters and the proposal.
local top = 0
for i = 1, #KEYS do
  redis.call('ZADD', KEYS[i], 'GT', ARGV[1], 'token')
  top = math.max(top, tonumber(redis.call('ZINCRBY', KEYS[i], '0', 'token')))
end
if top < 2 ^ 53 then
  for i = 1, #KEYS do redis.call('ZADD', KEYS[i], top + 1, 'token') end
end
return string.format('%.17g', top + 1)
