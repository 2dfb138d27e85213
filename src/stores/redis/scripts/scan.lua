-- Lists some keys.
-- Loaded on demand.
-- Arguments: the cursor; the pattern; about how many keys.
-- Answers: the next cursor, or 0 at the end; the number of keys; and the keys.
local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
return {page[1], #page[2], unpack(page[2])}
