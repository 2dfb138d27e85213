-- Acquires several locks for a client that waits, and tells whether other clients want them.
-- Keys: the locks; for each lock the list of denied clients; for each lock the hand-overs; for a set that grows, our
-- tombstone; with fencing, the counter of each lock.
-- Arguments: the first four of contend.lua; the number of locks; 1 to grow; the client's note; with fencing, the
-- proposal.
-- Answers: if all locks are set, 1, plus 1 if other clients want one of them, plus 2 if all counters were raised.
-- Otherwise an array: how many of the first locks are ours; then three numbers for each lock that is taken: its index
-- from 0, and the times to live of the lock and of its hand-overs in milliseconds.
local n, grows, held, taken = tonumber(ARGV[5]), ARGV[6] == '1', {}, {}
local rest = 3 * n
if grows then
  rest = rest + 1
  if redis.call('GET', KEYS[rest]) then return {0} end
end
for i = 1, n do
  held[i] = redis.call('GET', KEYS[i])
  if held[i] and not (grows and held[i] == ARGV[1]) then taken[#taken + 1] = i end
end
local function keep(i)
  if not held[i] then return redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end
  local left = redis.call('PTTL', KEYS[i])
  if left < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[i], ARGV[2]) end
end
if #taken == 0 then
  local answer, wanted = 3, 0
  for i = rest + 1, #KEYS do
    if redis.call('ZADD', KEYS[i], 'GT', 'CH', ARGV[8], 'token') ~= 1 then answer = 1 end
  end
  for i = 1, n do
    keep(i)
    redis.pcall('SREM', KEYS[2 * n + i], '1')
    redis.pcall('HDEL', KEYS[n + i], ARGV[3])
    local others = redis.pcall('HLEN', KEYS[n + i])
    if type(others) == 'number' and others > 0 then wanted = 1 end
  end
  return answer + wanted
end
local answer = {0}
if grows then
  answer[1] = taken[1] - 1
  for i = 1, n do
    if i < taken[1] then
      keep(i)
    elseif held[i] == ARGV[1] then
      redis.call('DEL', KEYS[i])
    end
  end
end
for at, i in ipairs(taken) do
  local left = redis.call('PTTL', KEYS[i])
  if at == 1 or not grows then
    local others = redis.pcall('HLEN', KEYS[n + i])
    if type(others) == 'number' and others < 64
        and type(redis.pcall('HSET', KEYS[n + i], ARGV[3], '1' .. ARGV[7])) == 'number' then
      local life = tonumber(ARGV[4]) + math.max(left, 0)
      if redis.call('PTTL', KEYS[n + i]) < life then redis.pcall('PEXPIRE', KEYS[n + i], life) end
    end
  end
  local turn = redis.pcall('SISMEMBER', KEYS[2 * n + i], '1') == 1 and redis.call('PTTL', KEYS[2 * n + i]) or -2
  answer[#answer + 1] = i - 1
  answer[#answer + 1] = left
  answer[#answer + 1] = turn
end
return answer
