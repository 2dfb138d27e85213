-- Turns an exclusive lock into a shared one.
-- Keys: the lock; its readers.
-- Argument: value.
-- Answers: 1 if we share the lock now, or shared it before; its ttl does not change. 0 if the lock is not ours, or if
-- it has no ttl: another program must have removed the ttl.
-- Loaded on demand.
local held, left = redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1])
local t = redis.call('TIME')
local now = t[1] * 1000 + math.ceil(t[2] / 1000)
if held == ':=shared' then return tonumber(redis.call('ZSCORE', KEYS[2], ARGV[1]) or 0) >= now and 1 or 0 end
if held ~= ARGV[1] or left < 0 then return 0 end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '+inf')
redis.call('ZADD', KEYS[2], now + left, ARGV[1])
redis.call('SET', KEYS[1], ':=shared', 'KEEPTTL')
redis.call('PEXPIRE', KEYS[2], left + 1000)
return 1
