-- Lists some keys.
-- Loaded on demand.
-- Arguments: the cursor; the pattern; how many keys.
-- Answers: the next cursor, or 0 at the end; and the keys.
local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
table.insert(page[2], 1, page[1])
return page[2]
