-- Tells since when a promoted server is the master.
-- Key: its tenure.
-- Argument: the ttl of the key in milliseconds.
-- Answers: the replication id of the master, which changes with each start and each promotion; and the time in
-- milliseconds, at least, since a client first saw this id.
-- Loaded on demand.
local id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
if redis.call('GET', KEYS[1]) ~= id then redis.call('SET', KEYS[1], id, 'PX', ARGV[1]) end
return {id, tostring(ARGV[1] - redis.call('PTTL', KEYS[1]))}
