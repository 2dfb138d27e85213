-- Gives locks a new value: another process takes them over.
-- Keys: the locks; the tombstone of the new value; the readers, if the lock was acquired as a reader.
-- Arguments: new value; ttl in milliseconds; former value; the number of locks.
-- Answers: 1 if all locks have the new value; otherwise 0, and the script has changed nothing.
-- The script never shortens a ttl.
-- Loaded on demand.
local value, ttl, former, n = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
if redis.call('GET', KEYS[n + 1]) then return 0 end
local readers = KEYS[n + 2]
if readers and redis.call('GET', KEYS[1]) == ':=shared' then
  local t = redis.call('TIME')
  local now = t[1] * 1000 + math.ceil(t[2] / 1000)
  local ends = 0
  for _, reader in ipairs({former, value}) do
    ends = math.max(ends, tonumber(redis.call('ZSCORE', readers, reader) or 0))
  end
  if ends < now then return 0 end
  local left = redis.call('PTTL', KEYS[1])
  redis.call('ZREM', readers, former)
  redis.call('ZADD', readers, math.max(ends, now + ttl), value)
  if left ~= -1 and left < ttl then
    redis.call('SET', KEYS[1], ':=shared', 'PX', ttl)
    redis.call('PEXPIRE', readers, ttl + 1000)
  end
  return 1
end
for i = 1, n do
  local held = redis.pcall('GET', KEYS[i])
  if held ~= former and held ~= value then return 0 end
end
for i = 1, n do
  redis.call('SET', KEYS[i], value, 'PX', math.max(redis.call('PTTL', KEYS[i]), ttl))
end
return 1
