-- Acquires a lock as a reader. The key of a shared lock has the value `:=shared`. A sorted set holds its readers, each
-- with its end in milliseconds of the server's clock.
-- Keys: the lock; its readers; the list of denied clients; the hand-overs.
-- Arguments: value; ttl in milliseconds; the client, or an empty text if it does not wait; for how many milliseconds
-- the server remembers a denied client after the end of the lock; 1 to overtake waiting writers.
-- Answers: 1 if we share the lock; 2 if we share it and a writer waits. If the lock is denied, three numbers: the time
-- to live in milliseconds of the lock or of the writer's wait; the time to live of the hand-overs; 0 if a writer has
-- the lock, or 1 if a writer waits for it. If a writer has the lock, then the first 512 bytes of its value.
-- If only a waiting writer keeps the reader out, the script does not note the reader. While a writer waits, no reader
-- prolongs the list. Otherwise a reader that asks again would prolong the wait of a dead writer, and keep itself out.
local held, wishes, waits = redis.call('GET', KEYS[1]), redis.pcall('HGETALL', KEYS[3]), false
for i = 1, #wishes, 2 do
  if wishes[i] ~= ARGV[3] and wishes[i + 1] ~= 'r' then waits = true end
end
local shared = not held or held == ':=shared'
if shared and (ARGV[5] == '1' or not waits) then
  local t = redis.call('TIME')
  local now = t[1] * 1000 + math.ceil(t[2] / 1000)
  if not held then redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '+inf') end
  redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. now)
  local left = redis.call('PTTL', KEYS[1])
  if left ~= -1 and left < tonumber(ARGV[2]) then
    redis.call('SET', KEYS[1], ':=shared', 'PX', ARGV[2])
    redis.call('PEXPIRE', KEYS[2], ARGV[2] + 1000)
  end
  if not held then redis.pcall('SREM', KEYS[4], '1') end
  if #wishes > 0 then redis.pcall('HDEL', KEYS[3], ARGV[3]) end
  return waits and 2 or 1
end
local turn = redis.pcall('SISMEMBER', KEYS[4], '1') == 1 and redis.call('PTTL', KEYS[4]) or -2
if shared then
  if not held and turn < 0 and redis.call('PTTL', KEYS[3]) > tonumber(ARGV[4]) then
    redis.pcall('PEXPIRE', KEYS[3], ARGV[4])
  end
  return {redis.call('PTTL', KEYS[3]), turn, 1}
end
local left = redis.call('PTTL', KEYS[1])
if ARGV[3] ~= '' and #wishes < 128 and type(redis.pcall('HSET', KEYS[3], ARGV[3], 'r')) == 'number' then
  local life = tonumber(ARGV[4]) + math.max(left, 0)
  if not waits and redis.call('PTTL', KEYS[3]) < life then redis.pcall('PEXPIRE', KEYS[3], life) end
end
return {left, turn, 0, string.sub(held, 1, 512)}
