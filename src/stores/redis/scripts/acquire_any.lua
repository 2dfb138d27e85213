-- Acquires any one of several locks. It uses only commands that the scripts for one lock use.
-- Keys: the locks, the preferred ones first; if the client waits, the list of denied clients of each lock, and the
-- hand-overs of each lock; with fencing, the counter of each lock.
-- Arguments: value; ttl in milliseconds; the number of locks; the client, or an empty text if it does not wait; for how
-- many milliseconds the server remembers hand-overs, and denied clients after the end of the lock; 1 if more
-- acquisitions of the same process follow; the client's note; with fencing, the proposal.
-- Answers: the script sets the first lock that is free, and answers four times its index from 0, plus 1 if other
-- clients want it, plus 2 if its counter was raised. If all locks are taken, the answer is an array: for each lock, the
-- times to live of the lock and of its hand-overs in milliseconds. A key that is not a string counts as taken.
-- The script raises the counter first, so a key that is not a counter is an error before a lock is set.
-- Loaded on demand.
local n, who = tonumber(ARGV[3]), ARGV[4]
local counters, left = who == '' and n or 3 * n, {}
for i = 1, n do
  left[i] = redis.call('PTTL', KEYS[i])
  if left[i] == -2 then
    local answer = 4 * (i - 1)
    if #KEYS > counters and redis.call('ZADD', KEYS[counters + i], 'GT', 'CH', ARGV[8], 'token') == 1 then
      answer = answer + 2
    end
    redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
    if who == '' then return answer end
    if ARGV[6] ~= '1' then
      redis.pcall('SREM', KEYS[2 * n + i], '1')
    elseif redis.pcall('SADD', KEYS[2 * n + i], '1') == 1 then
      redis.pcall('PEXPIRE', KEYS[2 * n + i], ARGV[5])
    end
    for j = 1, n do redis.pcall('HDEL', KEYS[n + j], who) end
    local others = redis.pcall('HLEN', KEYS[n + i])
    return type(others) == 'number' and others > 0 and answer + 1 or answer
  end
end
local answer = {}
for i = 1, n do
  local turn = -2
  if who ~= '' then
    local others = redis.pcall('HLEN', KEYS[n + i])
    if type(others) == 'number' and others < 64
        and type(redis.pcall('HSET', KEYS[n + i], who, '1' .. ARGV[7])) == 'number' then
      local life = tonumber(ARGV[5]) + math.max(left[i], 0)
      if redis.call('PTTL', KEYS[n + i]) < life then redis.pcall('PEXPIRE', KEYS[n + i], life) end
    end
    turn = redis.pcall('SISMEMBER', KEYS[2 * n + i], '1') == 1 and redis.call('PTTL', KEYS[2 * n + i]) or -2
  end
  answer[2 * i - 1] = left[i]
  answer[2 * i] = turn
end
return answer
