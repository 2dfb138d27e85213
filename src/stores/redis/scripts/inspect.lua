-- Shows the holder of a lock, its readers, and the clients that wait for it.
-- Keys: the lock; the list of denied clients; its readers.
-- Answers: an array. First the value, or an empty text; the time to live in milliseconds, or -2 if the lock is free; the
-- number of waiting clients and that of readers, or -1 for what the server does not tell. Then come two elements for
-- each waiting client, which are the field and its value in the list; and two for each reader: its value, and its time
-- to live in milliseconds. There are at most 64 of each, and each text has at most 512 bytes.
-- Both lists are optional (pcall): a user whose access list forbids to read them still sees the holder. A list that is
-- missing is not read, because each refused command leaves a line in the server's ACL LOG.
local held = redis.call('GET', KEYS[1])
local function cut(s) return string.sub(s, 1, 512) end
local answer = {cut(held or ''), held and redis.call('PTTL', KEYS[1]) or -2, 0, 0}
if redis.call('PTTL', KEYS[2]) ~= -2 then
  local wanted = redis.pcall('HGETALL', KEYS[2])
  answer[3] = wanted.err and -1 or math.min(#wanted / 2, 64)
  for i = 1, 2 * answer[3] do answer[4 + i] = cut(wanted[i]) end
end
if held ~= ':=shared' then return answer end
local t, readers = redis.pcall('TIME'), redis.pcall('ZRANGE', KEYS[3], -64, -1, 'WITHSCORES')
if t.err or readers.err then
  answer[4] = -1
  return answer
end
local now = t[1] * 1000 + math.ceil(t[2] / 1000)
for i = 1, #readers, 2 do
  local left = readers[i + 1] - now
  if left >= 0 then
    answer[4] = answer[4] + 1
    answer[#answer + 1] = cut(readers[i])
    answer[#answer + 1] = left
  end
end
return answer
