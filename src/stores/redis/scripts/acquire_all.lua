-- Acquires several locks, or none. Like the other scripts for several locks, it uses no command that those for one lock
-- do not.
-- Keys: the locks; with fencing, the counter of each.
-- Arguments: value; ttl in milliseconds; the number of locks; with fencing, the proposal.
-- Answers: 0 if a lock is taken, and then nothing has changed; 2 if all are set and all counters were raised, or there
-- are no counters; otherwise 1.
-- The counters come first: a key that is no counter is an error before a lock is set.
local n, answer = tonumber(ARGV[3]), 2
for i = 1, n do
  if redis.call('GET', KEYS[i]) then return 0 end
end
for i = n + 1, #KEYS do
  if redis.call('ZADD', KEYS[i], 'GT', 'CH', ARGV[4], 'token') ~= 1 then answer = 1 end
end
for i = 1, n do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end
return answer
