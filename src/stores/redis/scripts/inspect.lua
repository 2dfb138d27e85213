-- Shows the holder of a lock.
-- Key: the lock.
-- Answers: the value and the time to live in milliseconds. Null if the lock is free.
local value = redis.call('GET', KEYS[1])
if not value then return false end
return {value, redis.call('PTTL', KEYS[1])}
