-- Keeps the record of a server's memory: one key, in the data that it judges. docs/protocol.md explains the rule.
-- Keys: the record; the settings of the clients.
-- Arguments: the ttl of the record in milliseconds; a word that is different in each call; whether each write is on the
-- disk before it is answered (1, 0; empty: unknown); for how long a signature holds, in milliseconds (max_ttl); a
-- verdict on a fresh record, or nothing: its word after F (founded) or n (its set is not new); the caller's settings,
-- or nothing; in a cluster, `c` and the slots that are new but not young, such as `c5-7 9-9`.
-- Answers: the word; how it began (f: there was no record; n: likewise, and the set is not new; F: founded; r: the
-- server has restarted or lost keys; p: it was promoted, or the record says that the server had replicas and it may have
-- been one of them); its age in milliseconds; for how long the server must not vote, because its log was switched off
-- while a signature holds; the slots in ranges, each with the age at which they came, such as
-- `0-5460:0 5461-5461:90000`; the lives that the word has seen; the settings of other clients within the last hour. Null
-- if the server hides its run id.
-- The record: word, how it began, run id of the present process and of up to three before it (eight digits each), second
-- replication id, state of its log (d: durable, s: switched off, c: the server has replicas, -: none of these), age until
-- which this signature holds; in a cluster the slots, and their ranges.
-- A restart is believed only if the process has read the log. `CONFIG SET appendonly yes` looks the same until its first
-- rewrite ends, so a rewrite in progress is no proof.
-- Loaded on demand.
local function told(section)
  local text = redis.call('INFO', section)
  return function(field) return string.match(text, '\n' .. field .. ':([^\r\n]*)') or '' end
end
local server, copies, log = told('server'), told('replication'), told('persistence')
if copies('role') ~= 'master' then return redis.error_reply('READONLY the server is a replica') end
local run, past, holds = server('run_id'), copies('master_replid2'), tonumber(ARGV[4])
if run == '' then return false end
local cluster = ARGV[7] ~= nil
local promoted = string.find(past, '[^0]')
local known = redis.call('GET', KEYS[1]) or ''
local age = ARGV[1] - redis.call('PTTL', KEYS[1])
local word, how, lives, its_past, state, till, own, ranges =
  string.match(known, '^(%w+) (%a) ([%w,]+) (%w*) (.) (%d+)|([^|]*)|(.*)')
till = tonumber(till)
local left = math.max((till or 0) - age, 0)
local on, rewrites = log('aof_enabled') == '1', log('aof_rewrite_in_progress') .. log('aof_rewrite_scheduled') ~= '00'
local read = on and not rewrites and log('aof_last_rewrite_time_sec') == '-1'
local same = word and string.match(lives, '^%w+') == run and (its_past == past or not promoted)
local restored = state == 'd' and left > 0 and left <= holds and read and not promoted
local anew = not word or not (same or restored)
if anew then
  how = (promoted or state == 'c' or state == 's') and 'p' or known == '' and 'f' or 'r'
  word, lives, state, age, left, own, ranges = ARGV[2], run, '-', 0, 0, '', ''
elseif not same then
  lives = run .. ',' .. string.match(string.gsub(lives, '^(%w%w%w%w%w%w%w%w)%w*', '%1'), '^%w+,?%w*,?%w*')
end
if how == 'f' and age < holds then how = string.match(ARGV[5], '^([Fn])' .. word .. '$') or how end
local off = not on or ARGV[3] == '0' or log('aof_last_write_status') ~= 'ok'
local copied = cluster or copies('connected_slaves') ~= '0' or copies('repl_backlog_active') ~= '0'
local wait = 0
if off or (state == 's' and (rewrites or copied or ARGV[3] == '')) then
  wait, state = left, 's'
elseif copied then
  left = 0
elseif not rewrites and ARGV[3] == '1' and (state ~= 'd' or 3 * left < 2 * holds) then
  state, till, left = 'd', age + holds, holds
end
if left == 0 then state, till = copied and 'c' or '-', 0 end
local parts = ''
if cluster then
  local present = string.match(redis.call('CLUSTER', 'NODES'), ' myself' .. string.rep('%S* ', 6) .. '([^\n]*)') or ''
  present = string.gsub(present, '%[.-%]', '')
  if present ~= own or ARGV[7] ~= 'c' then
    local came, at, points = anew and 0 or math.max(age, 1), {{}, {}, {}}, {}
    local function put(of, a, b, value)
      a = tonumber(a)
      b = tonumber(b) or a
      at[of][a] = value
      at[of][b + 1] = false
      points[#points + 1] = a
      points[#points + 1] = b + 1
    end
    for a, b, t in string.gmatch(ranges, '(%d+)-(%d+):(%d+)') do put(1, a, b, tonumber(t)) end
    for a, b in string.gmatch(ARGV[7], '(%d+)-(%d+)') do put(2, a, b, 0) end
    for a, b in string.gmatch(present, '(%d+)%-?(%d*)') do put(3, a, b, true) end
    table.sort(points)
    local now, out, first, since = {}, {}, 0, false
    for _, p in ipairs(points) do
      for of = 1, 3 do
        if at[of][p] ~= nil then now[of] = at[of][p] end
      end
      local t = now[3] and (now[2] or now[1] or came) or false
      if t ~= since then
        if since then out[#out + 1] = first .. '-' .. (p - 1) .. ':' .. since end
        first = p
        since = t
      end
    end
    own = present
    ranges = table.concat(out, ' ')
  end
  parts = ranges
end
local text = table.concat({word, how, lives, past, state, till}, ' ') .. '|' .. own .. '|' .. ranges
if anew then
  redis.call('SET', KEYS[1], text, 'PX', ARGV[1])
elseif text ~= known then
  redis.pcall('SET', KEYS[1], text, 'KEEPTTL')
end
local answer = {word, how, tostring(age), tostring(wait), parts, lives}
if ARGV[6] == '' then return answer end
local kept, told_at, all = {}, nil, redis.pcall('GET', KEYS[2])
for at, line in string.gmatch(type(all) == 'string' and all or '', '(%d+) ([^\n]+)\n') do
  local since = age - at
  if since >= 0 and since < 3600000 and #kept < 50 then
    if line ~= ARGV[6] then
      kept[#kept + 1] = at .. ' ' .. line .. '\n'
      answer[#answer + 1] = line
    elseif since < 60000 then
      told_at = at
    end
  end
end
if not told_at then
  redis.pcall('SET', KEYS[2], table.concat(kept) .. age .. ' ' .. ARGV[6] .. '\n', 'PX', 3600000)
end
return answer
