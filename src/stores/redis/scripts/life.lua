-- Keeps the life marker of a standalone server.
-- Keys: the life marker; the settings of the clients.
-- Arguments: the marker's ttl in milliseconds; a word that is different in each call; the caller's settings.
-- Answers: the marker, its age in milliseconds, and the settings of other clients within the last hour. Null if the
-- server hides its run id.
-- The script writes a new marker if there is none, if another process of the server wrote the current one, or if the
-- server has been a replica since.
-- The settings are lines. Each line has the age of the marker when it was last written. A client writes its line at
-- most once a minute.
-- A marker has four words: the run id; the server's second replication id (zeros: it was never a replica); the run id
-- in the previous marker, or `-`; and the word of the call.
-- Loaded on demand.
local function told(section, name)
  return string.match(redis.call('INFO', section), name .. ':(%x+)')
end
local run, past = told('server', 'run_id'), told('replication', 'master_replid2') or '0'
if not run then return false end
local mark = redis.call('GET', KEYS[1]) or ''
local its_run, its_past = string.match(mark, '^(%x+) (%x+) ')
if its_run ~= run or (its_past ~= past and string.find(past, '[^0]')) then
  mark = table.concat({run, past, its_run or '-', ARGV[2]}, ' ')
  redis.call('SET', KEYS[1], mark, 'PX', ARGV[1])
end
local age = ARGV[1] - redis.call('PTTL', KEYS[1])
local answer, all = {mark, tostring(age)}, redis.pcall('GET', KEYS[2])
local kept, told_at = {}, nil
for at, line in string.gmatch(type(all) == 'string' and all or '', '(%d+) ([^\n]+)\n') do
  local since = age - at
  if since >= 0 and since < 3600000 and #kept < 50 then
    if line ~= ARGV[3] then
      kept[#kept + 1] = at .. ' ' .. line .. '\n'
      answer[#answer + 1] = line
    elseif since < 60000 then
      told_at = at
    end
  end
end
if not told_at then
  redis.pcall('SET', KEYS[2], table.concat(kept) .. age .. ' ' .. ARGV[3] .. '\n', 'PX', 3600000)
end
return answer
