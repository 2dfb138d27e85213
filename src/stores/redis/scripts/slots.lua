-- Tells since when a master of a cluster owns its slots.
-- Keys: its tenure; the record.
-- Arguments: the ttl of the keys in milliseconds; the slots that are new but not young, such as `5-7 9-9`.
-- Answers: the ranges of slots, each with the age of the tenure when they came, such as `0-5460:0 5461-5461:90000`; and
-- the age of the tenure now. The slots at the beginning of the tenure have the age 0.
-- The script asks the master itself for its slots. It writes the record only if it has changed.
-- Loaded on demand.
local id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
local known = redis.call('GET', KEYS[2]) or ''
if redis.call('GET', KEYS[1]) ~= id then redis.call('SET', KEYS[1], id, 'PX', ARGV[1]) known = '' end
local age = ARGV[1] - redis.call('PTTL', KEYS[1])
local own = string.match(redis.call('CLUSTER', 'NODES'), ' myself' .. string.rep('%S* ', 6) .. '([^\n]*)') or ''
own = string.gsub(own, '%[.-%]', '')
local head = id .. ' ' .. own .. '|'
if ARGV[2] == '' and string.sub(known, 1, #head) == head then
  return {string.sub(known, #head + 1), tostring(age)}
end
local new = 0
if string.sub(known, 1, #id) == id then
  new = age
else
  known = ''
end
local at, points = {{}, {}, {}}, {}
local function put(of, a, b, value)
  a = tonumber(a)
  b = tonumber(b) or a
  at[of][a] = value
  at[of][b + 1] = false
  points[#points + 1] = a
  points[#points + 1] = b + 1
end
for a, b, t in string.gmatch(string.match(known, '|(.*)') or '', '(%d+)-(%d+):(%d+)') do
  put(1, a, b, tonumber(t))
end
for a, b in string.gmatch(ARGV[2], '(%d+)-(%d+)') do put(2, a, b, 0) end
for a, b in string.gmatch(own, '(%d+)%-?(%d*)') do put(3, a, b, true) end
table.sort(points)
local now, out, first, since = {}, {}, 0, false
for _, p in ipairs(points) do
  for of = 1, 3 do
    if at[of][p] ~= nil then now[of] = at[of][p] end
  end
  local t = now[3] and (now[2] or now[1] or new) or false
  if t ~= since then
    if since then out[#out + 1] = first .. '-' .. (p - 1) .. ':' .. since end
    first = p
    since = t
  end
end
local text = table.concat(out, ' ')
redis.call('SET', KEYS[2], head .. text, 'PX', ARGV[1])
return {text, tostring(age)}
