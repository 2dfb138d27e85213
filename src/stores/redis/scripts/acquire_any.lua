-- Acquires any one of several locks. It uses no command that the scripts for one lock do not.
-- Keys: the locks, the preferred ones first; for a client that looks for others, the list of denied clients of each
-- lock, and the hand-overs of each; with fencing, the counter of each lock.
-- Arguments: value; ttl in milliseconds; the number of locks; the client, or nothing if it does not look for others and
-- is not noted; for how many milliseconds that is remembered; 1 if more acquisitions of the same process follow; with
-- fencing, the proposal.
-- Answers: four times the number, from 0, of the first lock that was free and is set now; and 1 more if others want it;
-- and 2 more if its counter was raised. If all are taken, an array: the times to live of each lock and of its
-- hand-overs in milliseconds. A key that is not a string counts as taken.
-- The counter comes first: a key that is no counter is an error before a lock is set.
-- Loaded on demand.
local n, who = tonumber(ARGV[3]), ARGV[4]
local counters, left = who == '' and n or 3 * n, {}
for i = 1, n do
  left[i] = redis.call('PTTL', KEYS[i])
  if left[i] == -2 then
    local answer = 4 * (i - 1)
    if #KEYS > counters and redis.call('ZADD', KEYS[counters + i], 'GT', 'CH', ARGV[7], 'token') == 1 then
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
    if type(others) == 'number' and others < 100 and type(redis.pcall('HSET', KEYS[n + i], who, '1')) == 'number' then
      local life = tonumber(ARGV[5]) + math.max(left[i], 0)
      if redis.call('PTTL', KEYS[n + i]) < life then redis.pcall('PEXPIRE', KEYS[n + i], life) end
    end
    turn = redis.pcall('SISMEMBER', KEYS[2 * n + i], '1') == 1 and redis.call('PTTL', KEYS[2 * n + i]) or -2
  end
  answer[2 * i - 1] = left[i]
  answer[2 * i] = turn
end
return answer
