-- Releases a lock and leaves a tombstone.
-- Keys: the lock; our tombstone.
-- Arguments: value; the tombstone's ttl in milliseconds.
-- Answers: 1 if the lock was ours, or 0.
redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
