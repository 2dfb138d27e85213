-- Extends a lock.
-- Keys: the lock; to heal it, our tombstone.
-- Arguments: value; ttl in milliseconds; 1 to heal.
-- Answers: 1 if the lock is ours; 2 if it was missing and is set again; 0 otherwise.
-- The script never shortens the ttl: an extension that arrives late must not cut off a later and longer one. `SET …
-- IFEQ` would shorten it.
local held = redis.call('GET', KEYS[1])
if held ~= ARGV[1] and (held or ARGV[3] ~= '1' or redis.call('GET', KEYS[2])) then return 0 end
if not held then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 2 end
local left = redis.call('PTTL', KEYS[1])
if left < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
