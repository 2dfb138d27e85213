-- Acquires a lock for a client that waits, and tells whether other clients want the lock.
-- Keys: the lock; the list of denied clients; the hand-overs of a process.
-- Arguments: value; ttl in milliseconds; the client; for how many milliseconds the server remembers hand-overs, and
-- denied clients after the end of the lock; 1 if more acquisitions of the same process follow; the client's note.
-- Answers: 1 if the lock is granted; 2 if it is granted and other clients want it. If the lock is denied, an array: the
-- times to live of the lock and of the hand-overs in milliseconds; the first 512 bytes of the lock's value. An error if
-- the lock is not a string.
-- The server tracks the keys that the script reads, and notifies the client of a change.
-- The list and the hand-overs are optional (pcall): a user whose access list forbids to write them can acquire the
-- lock, and a string that another program stored under one of these names stays as it is.
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
local held = redis.call('GET', KEYS[1]) or ''
local left = redis.call('PTTL', KEYS[1])
local others = redis.pcall('HLEN', KEYS[2])
if type(others) == 'number' and others < 64
    and type(redis.pcall('HSET', KEYS[2], ARGV[3], '1' .. ARGV[6])) == 'number' then
  local life = tonumber(ARGV[4]) + math.max(left, 0)
  if redis.call('PTTL', KEYS[2]) < life then redis.pcall('PEXPIRE', KEYS[2], life) end
end
local turn = redis.pcall('SISMEMBER', KEYS[3], '1') == 1 and redis.call('PTTL', KEYS[3]) or -2
return {left, turn, string.sub(held, 1, 512)}
