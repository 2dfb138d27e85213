-- Tells since when a server that was promoted is the master.
-- Key: its tenure.
-- Argument: for how many milliseconds the key is kept.
-- Answers: the replication id of the master, which each start and each promotion draws anew; and for how many
-- milliseconds, at the least, a client has known it.
-- Loaded on demand.
local id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
if redis.call('GET', KEYS[1]) ~= id then redis.call('SET', KEYS[1], id, 'PX', ARGV[1]) end
return {id, tostring(ARGV[1] - redis.call('PTTL', KEYS[1]))}
