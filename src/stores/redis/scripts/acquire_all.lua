-- Acquires several locks, or none. Like the other scripts for several locks, it uses only commands that the scripts for
-- one lock use.
-- Keys: the locks; with fencing, the counter of each.
-- Arguments: value; ttl in milliseconds; the number of locks; with fencing, the proposal.
-- Answers: 0 if a lock is taken; then the script has changed nothing. Otherwise all locks are set: 2 if all counters
-- were raised, or if there are no counters; 1 if not.
-- The script raises the counters first, so a key that is not a counter is an error before a lock is set.
local n, answer = tonumber(ARGV[3]), 2
for i = 1, n do
  if redis.call('GET', KEYS[i]) then return 0 end
end
for i = n + 1, #KEYS do
  if redis.call('ZADD', KEYS[i], 'GT', 'CH', ARGV[4], 'token') ~= 1 then answer = 1 end
end
for i = 1, n do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end
return answer
