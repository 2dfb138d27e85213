-- Releases a lock that was acquired as a reader. The release of the last reader deletes the lock.
-- Keys: the lock; its readers; our tombstone, to leave it.
-- Arguments: value; the tombstone's ttl in milliseconds.
-- Answers: 1 if the lock was ours, or 0.
if KEYS[3] then redis.call('SET', KEYS[3], '1', 'PX', ARGV[2]) end
local held = redis.call('GET', KEYS[1])
if held == ARGV[1] then return redis.call('DEL', KEYS[1]) end
if held ~= ':=shared' then return 0 end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.ceil(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. now)
local freed = redis.call('ZREM', KEYS[2], ARGV[1])
if redis.call('ZCARD', KEYS[2]) == 0 then redis.call('DEL', KEYS[1]) end
return freed
