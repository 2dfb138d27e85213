-- Acquires a lock for a client that waits, and tells whether other clients want the lock.
-- Keys: the lock; the list of denied clients; the hand-overs of a process.
-- Arguments: value; ttl in milliseconds; the client; for how many milliseconds the server remembers hand-overs, and
-- denied clients after the end of the lock; 1 if more acquisitions of the same process follow; the client's note.
-- Answers: 1 if the lock is granted; 2 if it is granted and other clients want it. If the lock is denied, an array: the
-- times to live of the lock and of the hand-overs in milliseconds; the first 512 bytes of the lock's value; and, if
-- three or more clients wait, how many come before this one: up to 3, which means that it stands by. An error if the
-- lock is not a string.
-- A server without memory refuses to set the lock, but tells who has it, if somebody has.
-- The list and the hand-overs are optional (pcall): a user whose access list forbids to write them can acquire the
-- lock, and a string that another program stored under one of these names stays as it is. A client that may not read
-- the list is not in line: it could not know its place.
-- The list is also a line. A client's wish ends with the times since when it waits, and until when it is believed, in
-- milliseconds of the server's clock. Only the first three ask when the lock is free. Each other client stands by: it
-- has a key, its place, and is called by the deletion of that key. With each grant, the first three are called. If they
-- do not come within a second, their wishes are over: such a client has died.
local who, life, first_max = ARGV[3], tonumber(ARGV[4]), 3
local function now()
  local t = redis.pcall('TIME')
  return t.err and 0 or t[1] * 1000 + math.floor(t[2] / 1000)
end
local function first_in_line(time)
  local first, wishes = {}, redis.pcall('HGETALL', KEYS[2])
  if wishes.err then return nil end
  for i = 1, #wishes, 2 do
    local wish, since, till = string.match(wishes[i + 1], '^(.*\31(%d+)\31)(%d+)$')
    if wish and tonumber(till) < time then
      redis.pcall('HDEL', KEYS[2], wishes[i])
    elseif wish then
      local one, at = {who = wishes[i], wish = wish, since = tonumber(since), till = tonumber(till)}, #first + 1
      while at > 1 and (one.since < first[at - 1].since
          or one.since == first[at - 1].since and one.who < first[at - 1].who) do
        first[at] = first[at - 1]
        at = at - 1
      end
      first[at] = one
      first[first_max + 1] = nil
    end
  end
  return first
end
local function set(call) return call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) end
local is_set = set(redis.pcall)
if is_set and is_set.err then
  is_set = not (string.find(is_set.err, 'OOM', 1, true) and redis.call('GET', KEYS[1])) and set(redis.call)
end
if is_set then
  if ARGV[5] ~= '1' then
    redis.pcall('SREM', KEYS[3], '1')
  elseif redis.pcall('SADD', KEYS[3], '1') == 1 then
    redis.pcall('PEXPIRE', KEYS[3], ARGV[4])
  end
  redis.pcall('HDEL', KEYS[2], who)
  local others = redis.pcall('HLEN', KEYS[2])
  if type(others) ~= 'number' or others == 0 then return 1 end
  local time = now()
  for _, one in ipairs(time > 0 and first_in_line(time) or {}) do
    redis.pcall('DEL', KEYS[2] .. ':' .. one.who)
    if one.till > time + life then redis.pcall('HSET', KEYS[2], one.who, one.wish .. time + life) end
  end
  return 2
end
local held = redis.call('GET', KEYS[1]) or ''
local left = redis.call('PTTL', KEYS[1])
local others, before = redis.pcall('HLEN', KEYS[2])
if type(others) == 'number' then
  local time, known, wish = now(), redis.pcall('HGET', KEYS[2], who), '1' .. ARGV[6]
  local since = type(known) == 'string' and string.match(known, '\31(%d+)\31%d+$')
  life = life + math.max(left, 0)
  if type(known) == 'table' then time = 0 end
  if time > 0 then wish = wish .. '\31' .. (since or time) .. '\31' end
  if (others < 64 or since)
      and type(redis.pcall('HSET', KEYS[2], who, time > 0 and wish .. time + life or wish)) == 'number' then
    if redis.call('PTTL', KEYS[2]) < life then redis.pcall('PEXPIRE', KEYS[2], life) end
    local first = time > 0 and others >= first_max and first_in_line(time)
    if first then
      before = first_max
      for i, one in ipairs(first) do before = one.who == who and i - 1 or before end
    end
    if before == first_max then
      redis.pcall('HSET', KEYS[2], who, wish .. time + 3 * ARGV[4])
      if redis.pcall('SET', KEYS[2] .. ':' .. who, '1', 'PX', 3 * ARGV[4]).err then before = nil end
    end
  end
end
local turn = redis.pcall('SISMEMBER', KEYS[3], '1') == 1 and redis.call('PTTL', KEYS[3]) or -2
return {left, turn, string.sub(held, 1, 512), before}
