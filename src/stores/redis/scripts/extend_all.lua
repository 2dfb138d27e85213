-- Extends several locks, or none.
-- Keys: the locks; to heal them, our tombstone.
-- Arguments: value; ttl in milliseconds; the number of locks; 1 to heal.
-- Answers: 1 if all locks are ours; 2 if some were missing and are set again; otherwise 0, and the script has changed
-- nothing.
local n, missing, held = tonumber(ARGV[3]), false, {}
for i = 1, n do
  held[i] = redis.pcall('GET', KEYS[i])
  if not held[i] then
    missing = true
  elseif held[i] ~= ARGV[1] then
    return 0
  end
end
if missing and (ARGV[4] ~= '1' or redis.call('GET', KEYS[n + 1])) then return 0 end
for i = 1, n do
  local left = redis.call('PTTL', KEYS[i])
  if not held[i] then
    redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
  elseif left < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[i], ARGV[2])
  end
end
return missing and 2 or 1
