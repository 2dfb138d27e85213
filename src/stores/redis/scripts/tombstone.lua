-- Releases a lock and leaves a tombstone.
-- Keys: the lock; our tombstone; the hand-overs, if no other acquisition of our process follows.
-- Arguments: value; the tombstone's ttl in milliseconds.
-- Answers: 1 if the lock was ours, or 0.
redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
if KEYS[3] then redis.pcall('SREM', KEYS[3], '1') end
return 1
