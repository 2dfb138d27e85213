-- Releases a lock.
-- Keys: the lock; its hand-overs, if no other acquisition of our process follows.
-- Argument: value.
-- Answers: 1 if the lock was ours, or 0.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
if KEYS[2] then redis.pcall('SREM', KEYS[2], '1') end
return 1
