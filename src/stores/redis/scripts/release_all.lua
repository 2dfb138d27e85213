-- Releases several locks.
-- Keys: the locks; our tombstone, to leave it.
-- Arguments: value; the number of locks; the tombstone's ttl in milliseconds.
-- Answers: how many locks were ours.
local n, freed = tonumber(ARGV[2]), 0
if KEYS[n + 1] then redis.call('SET', KEYS[n + 1], '1', 'PX', ARGV[3]) end
for i = 1, n do
  if redis.pcall('GET', KEYS[i]) == ARGV[1] then freed = freed + redis.call('DEL', KEYS[i]) end
end
return freed
