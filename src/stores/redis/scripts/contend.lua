-- An acquisition that looks for other clients that want the lock.
-- Keys: the lock; the list of denied clients; the hand-overs of a process.
-- Arguments: value; ttl in milliseconds; the client; for how many milliseconds hand-overs are remembered, and a denied
-- client after the end of the lock; 1 if more acquisitions of the same process follow.
-- Answers: 1 if it is granted; 2 if others want the lock, too. If it is denied: the times to live of the lock and of
-- the hand-overs in milliseconds. Fails if the lock is not a string.
-- The server remembers which keys were read here, to notify the client of a change.
-- A user who may not write the list and the hand-overs can acquire all the same (pcall). So can one who finds a string
-- of somebody else under one of these names; the string is left alone.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  if ARGV[5] ~= '1' then
    redis.pcall('SREM', KEYS[3], '1')
  elseif redis.pcall('SADD', KEYS[3], '1') == 1 then
    redis.pcall('PEXPIRE', KEYS[3], ARGV[4])
  end
  redis.pcall('HDEL', KEYS[2], ARGV[3])
  local others = redis.pcall('HLEN', KEYS[2])
  return type(others) == 'number' and others > 0 and 2 or 1
end
redis.call('GET', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
local others = redis.pcall('HLEN', KEYS[2])
if type(others) == 'number' and others < 100 and type(redis.pcall('HSET', KEYS[2], ARGV[3], '1')) == 'number' then
  local life = tonumber(ARGV[4]) + math.max(left, 0)
  if redis.call('PTTL', KEYS[2]) < life then redis.pcall('PEXPIRE', KEYS[2], life) end
end
local turn = redis.pcall('SISMEMBER', KEYS[3], '1') == 1 and redis.call('PTTL', KEYS[3]) or -2
return {left, turn}
