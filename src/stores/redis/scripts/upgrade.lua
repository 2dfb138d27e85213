-- Turns a shared lock into an exclusive one, if there is only one reader.
-- Keys: the lock; its readers; the list of denied clients.
-- Arguments: value; ttl in milliseconds; the client, or an empty text if it does not wait; for how many milliseconds
-- the server remembers a denied client after the end of the lock; the client's note.
-- Answers: 1 if the lock is ours alone; 0 if it is not ours. If there are other readers, an array of one number: the
-- longest time to live of a reader in milliseconds. The script never shortens the ttl.
-- Loaded on demand.
local held, ttl = redis.call('GET', KEYS[1]), tonumber(ARGV[2])
local left = redis.call('PTTL', KEYS[1])
if held == ARGV[1] then
  if left < ttl then redis.call('PEXPIRE', KEYS[1], ttl) end
  return 1
end
if held ~= ':=shared' then return 0 end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.ceil(t[2] / 1000)
local ends = tonumber(redis.call('ZSCORE', KEYS[2], ARGV[1]) or 0)
if ends < now then return 0 end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. now)
if redis.call('ZCARD', KEYS[2]) == 1 then
  redis.call('DEL', KEYS[2])
  redis.call('SET', KEYS[1], ARGV[1], 'PX', math.max(ttl, ends - now))
  redis.pcall('HDEL', KEYS[3], ARGV[3])
  return 1
end
local others = redis.pcall('HLEN', KEYS[3])
if ARGV[3] ~= ''
    and type(others) == 'number' and others < 64
    and type(redis.pcall('HSET', KEYS[3], ARGV[3], '1' .. ARGV[5])) == 'number' then
  local life = tonumber(ARGV[4]) + math.max(left, 0)
  if redis.call('PTTL', KEYS[3]) < life then redis.pcall('PEXPIRE', KEYS[3], life) end
end
return {left}
