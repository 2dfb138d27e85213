-- Extends a lock that was acquired as a reader.
-- Keys: the lock; its readers; to heal it, our tombstone.
-- Arguments: value; ttl in milliseconds; 1 to heal; 1 if the lock was upgraded.
-- Answers: 1 if the lock is ours; 2 if it was missing and is set again, or if it was upgraded but is only shared here;
-- otherwise 0.
-- The script never shortens a ttl.
local held, ttl = redis.call('GET', KEYS[1]), tonumber(ARGV[2])
local left, writer = redis.call('PTTL', KEYS[1]), ARGV[4] == '1'
if held == ARGV[1] then
  if left < ttl then redis.call('PEXPIRE', KEYS[1], ttl) end
  return 1
end
if held and held ~= ':=shared' then return 0 end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.ceil(t[2] / 1000)
local ends = held and tonumber(redis.call('ZSCORE', KEYS[2], ARGV[1]) or 0) or 0
local missing = ends < now
if missing and (ARGV[3] ~= '1' or held and writer or redis.call('GET', KEYS[3])) then return 0 end
if not held and writer then redis.call('SET', KEYS[1], ARGV[1], 'PX', ttl) return 2 end
if not held then redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '+inf') end
if ends < now + ttl then redis.call('ZADD', KEYS[2], now + ttl, ARGV[1]) end
if left ~= -1 and left < ttl then
  redis.call('SET', KEYS[1], ':=shared', 'PX', ttl)
  redis.call('PEXPIRE', KEYS[2], ttl + 1000)
end
return (missing or writer) and 2 or 1
