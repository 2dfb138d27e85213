#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace redlock::redis {

/// A Lua script and the SHA-1 of its bytes, by which the server knows it.
struct script {
    std::string_view source;
    std::string_view sha1;
};

// Each takes the key and our value first. Comparing and acting are one step on the server. docs/protocol.md tells what they
// are for; a test compares the digests with those that the server computes, and what they do with what `lock_table` does.

/// An acquisition that looks for others. Keys: the lock, the list of who has been denied lately, the hand-overs of a process. Arguments:
/// value, ttl in milliseconds, who asks, how long hand-overs are remembered, and that somebody was denied after the lock's own end, in
/// milliseconds, 1 if more of the same process follow. Fails if the lock is no string. Answers 1 if it is granted, 2 if others want it, too, and if it is denied an
/// array of the times to live of lock and hand-overs in milliseconds. Reading them is what the server remembers, to tell us when they
/// change. A user who may not keep the list and the hand-overs can lock all the same; and where a stranger keeps a string under one of
/// these names, that is left alone.
inline constexpr script contend_script{
    "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then "
    "if ARGV[5] ~= '1' then redis.pcall('SREM', KEYS[3], '1') "
    "elseif redis.pcall('SADD', KEYS[3], '1') == 1 then redis.pcall('PEXPIRE', KEYS[3], ARGV[4]) end "
    "redis.pcall('HDEL', KEYS[2], ARGV[3]) "
    "local others = redis.pcall('HLEN', KEYS[2]) "
    "return type(others) == 'number' and others > 0 and 2 or 1 end "
    "redis.call('GET', KEYS[1]) local left = redis.call('PTTL', KEYS[1]) "
    "local others = redis.pcall('HLEN', KEYS[2]) "
    "if type(others) == 'number' and others < 100 and type(redis.pcall('HSET', KEYS[2], ARGV[3], '1')) == 'number' then "
    "local life = tonumber(ARGV[4]) + math.max(left, 0) "
    "if redis.call('PTTL', KEYS[2]) < life then redis.pcall('PEXPIRE', KEYS[2], life) end end "
    "local turn = redis.pcall('SISMEMBER', KEYS[3], '1') == 1 and redis.call('PTTL', KEYS[3]) or -2 "
    "return {left, turn}",
    "81c078d5ee82fcb65d618640f6b372537a0302a0"};

/// Keys: the lock; our tombstone, to heal. Arguments: value, ttl in milliseconds, 1 to heal. Answers 1 if it is ours, 2 if it
/// was missing and has been set, 0 otherwise. The ttl is never shortened: an extension that was delayed on its way must not cut
/// off a later and longer one. (`SET … IFEQ` could do so, which is why it is not used.)
inline constexpr script extend_script{
    "local held = redis.call('GET', KEYS[1]) "
    "if held ~= ARGV[1] and (held or ARGV[3] ~= '1' or redis.call('GET', KEYS[2])) then return 0 end "
    "if not held then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 2 end "
    "local left = redis.call('PTTL', KEYS[1]) "
    "if left >= 0 and left < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 1",
    "39921c5260e894e6cd74cc428500fb6acbfb9cee"};

/// Keys: the lock; the hand-overs of our process, if nobody of it follows. Argument: value. Answers 1 or 0.
inline constexpr script release_script{
    "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
    "redis.call('DEL', KEYS[1]) "
    "if KEYS[2] then redis.pcall('SREM', KEYS[2], '1') end return 1",
    "d8d337ea1a874c6b7a7cdbe018ce3dc6a866d57f"};

/// A release that leaves a tombstone. Keys: the lock, our tombstone. Arguments: value, how long to leave the tombstone in
/// milliseconds. Answers 1 or 0.
inline constexpr script tombstone_script{
    "redis.call('SET', KEYS[2], '1', 'PX', ARGV[2]) "
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0",
    "6f977cdfd2ededabe64ac7efb05e9c00ef82c07d"};

/// Answers the value and the remaining time to live in milliseconds, or nothing.
inline constexpr script inspect_script{
    "local value = redis.call('GET', KEYS[1]) "
    "if not value then return false end return {value, redis.call('PTTL', KEYS[1])}",
    "0d0e63f45ee4c6b197c5c52b41305a601e322e1f"};

// The same for several locks, which are held together. None of them uses a command that those for one do not.

/// Keys: the locks; with fencing the counters behind them. Arguments: value, ttl in milliseconds, how many locks; the proposal. Answers
/// 0 if one is taken, and changes nothing then; 2 if all are set and all counters were raised, or there are none; otherwise 1.
/// The counters come first: one that is none is an error, before a lock is set.
inline constexpr script acquire_all_script{
    "local n, answer = tonumber(ARGV[3]), 2 "
    "for i = 1, n do if redis.call('GET', KEYS[i]) then return 0 end end "
    "for i = n + 1, #KEYS do if redis.call('ZADD', KEYS[i], 'GT', 'CH', ARGV[4], 'token') ~= 1 then answer = 1 end end "
    "for i = 1, n do redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end return answer",
    "2b23b9331146e098c63190b7f49bf6782b0fdd37"};

/// An acquisition that looks for others. Keys: the locks, of each the list of who has been denied, of each the hand-overs; of one that
/// grows our tombstone; with fencing the counters. Arguments: as of @ref contend_script, but in place of the last how many locks, and 1
/// to grow; the proposal. If all are set: 1, and 1 more if others want one of them, and 2 more if all counters were raised. Otherwise an array:
/// how many are ours from the first on; then, of each that is taken, its number from 0 and the times to live of lock and hand-overs in milliseconds.
inline constexpr script contend_all_script{
    "local n, grows, held, taken = tonumber(ARGV[5]), ARGV[6] == '1', {}, {} "
    "local rest = 3 * n "
    "if grows then rest = rest + 1 if redis.call('GET', KEYS[rest]) then return {0} end end "
    "for i = 1, n do held[i] = redis.call('GET', KEYS[i]) "
    "if held[i] and not (grows and held[i] == ARGV[1]) then taken[#taken + 1] = i end end "
    "local function keep(i) "
    "if not held[i] then return redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) end "
    "local left = redis.call('PTTL', KEYS[i]) "
    "if left >= 0 and left < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[i], ARGV[2]) end end "
    "if #taken == 0 then local answer, wanted = 3, 0 "
    "for i = rest + 1, #KEYS do if redis.call('ZADD', KEYS[i], 'GT', 'CH', ARGV[7], 'token') ~= 1 then answer = 1 end end "
    "for i = 1, n do keep(i) "
    "redis.pcall('SREM', KEYS[2 * n + i], '1') redis.pcall('HDEL', KEYS[n + i], ARGV[3]) "
    "local others = redis.pcall('HLEN', KEYS[n + i]) "
    "if type(others) == 'number' and others > 0 then wanted = 1 end end return answer + wanted end "
    "local answer = {0} "
    "if grows then answer[1] = taken[1] - 1 for i = 1, n do "
    "if i < taken[1] then keep(i) elseif held[i] == ARGV[1] then redis.call('DEL', KEYS[i]) end end end "
    "for at, i in ipairs(taken) do local left = redis.call('PTTL', KEYS[i]) "
    "if at == 1 or not grows then local others = redis.pcall('HLEN', KEYS[n + i]) "
    "if type(others) == 'number' and others < 100 and type(redis.pcall('HSET', KEYS[n + i], ARGV[3], '1')) == 'number' then "
    "local life = tonumber(ARGV[4]) + math.max(left, 0) "
    "if redis.call('PTTL', KEYS[n + i]) < life then redis.pcall('PEXPIRE', KEYS[n + i], life) end end end "
    "local turn = redis.pcall('SISMEMBER', KEYS[2 * n + i], '1') == 1 and redis.call('PTTL', KEYS[2 * n + i]) or -2 "
    "answer[#answer + 1] = i - 1 answer[#answer + 1] = left answer[#answer + 1] = turn end return answer",
    "ebcc9f9daf6fbb9415cff35b455294ca897fe3a3"};

/// Keys: the locks; our tombstone, to heal. Arguments: value, ttl in milliseconds, how many locks, 1 to heal. Answers 1 if all are
/// ours, 2 if some were missing and have been set, 0 otherwise, and changes nothing then.
inline constexpr script extend_all_script{
    "local n, missing, held = tonumber(ARGV[3]), false, {} "
    "for i = 1, n do held[i] = redis.pcall('GET', KEYS[i]) "
    "if not held[i] then missing = true elseif held[i] ~= ARGV[1] then return 0 end end "
    "if missing and (ARGV[4] ~= '1' or redis.call('GET', KEYS[n + 1])) then return 0 end "
    "for i = 1, n do local left = redis.call('PTTL', KEYS[i]) "
    "if not held[i] then redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) "
    "elseif left >= 0 and left < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[i], ARGV[2]) end end "
    "return missing and 2 or 1",
    "f3489f77ef6bdccb3a10d77eb345183d1ebb1b84"};

/// Keys: the locks; our tombstone, to leave it. Arguments: value, how many locks; how long to leave the tombstone in milliseconds.
/// Answers how many were ours, and are deleted.
inline constexpr script release_all_script{
    "local n, freed = tonumber(ARGV[2]), 0 "
    "if KEYS[n + 1] then redis.call('SET', KEYS[n + 1], '1', 'PX', ARGV[3]) end "
    "for i = 1, n do if redis.pcall('GET', KEYS[i]) == ARGV[1] then freed = freed + redis.call('DEL', KEYS[i]) end end "
    "return freed",
    "f9c4fe05ce659206376ae6681be9b555f8ea2808"};

/// Keys: the counters. Argument: the proposal. Answers what all of them are now, one more than the highest, as text.
inline constexpr script raise_all_script{
    "local top = 0 "
    "for i = 1, #KEYS do redis.call('ZADD', KEYS[i], 'GT', ARGV[1], 'token') "
    "top = math.max(top, tonumber(redis.call('ZINCRBY', KEYS[i], '0', 'token'))) end "
    "if top < 2 ^ 53 then for i = 1, #KEYS do redis.call('ZADD', KEYS[i], top + 1, 'token') end end "
    "return string.format('%.17g', top + 1)",
    "c67ef565c29932011f938f469f379adf96d814a5"};

// Any one of several locks. It needs no command that those for one do not, either.

/// Keys: the locks, those that are preferred first; of one that looks for others the lists of who has been denied, and the hand-overs; with
/// fencing the counters. Arguments: value, ttl in milliseconds, how many locks; who asks (empty: it does not look for others, and is not
/// noted), and how long that is remembered in milliseconds, 1 if more of the same process follow; the proposal. Sets the first that is not
/// there, and answers its number from 0, four times; 1 more if others want it, too, and 2 more if its counter was raised. If all are taken,
/// an array: the times to live of each, and of its hand-overs, in milliseconds. What is no string is taken.
/// The counter comes first: one that is none is an error, before the lock is set.
inline constexpr script acquire_any_script{
    "local n, who = tonumber(ARGV[3]), ARGV[4] "
    "local counters, left = who == '' and n or 3 * n, {} "
    "for i = 1, n do left[i] = redis.call('PTTL', KEYS[i]) "
    "if left[i] == -2 then local answer = 4 * (i - 1) "
    "if #KEYS > counters and redis.call('ZADD', KEYS[counters + i], 'GT', 'CH', ARGV[7], 'token') == 1 then answer = answer + 2 end "
    "redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2]) "
    "if who == '' then return answer end "
    "if ARGV[6] ~= '1' then redis.pcall('SREM', KEYS[2 * n + i], '1') "
    "elseif redis.pcall('SADD', KEYS[2 * n + i], '1') == 1 then redis.pcall('PEXPIRE', KEYS[2 * n + i], ARGV[5]) end "
    "for j = 1, n do redis.pcall('HDEL', KEYS[n + j], who) end "
    "local others = redis.pcall('HLEN', KEYS[n + i]) "
    "return type(others) == 'number' and others > 0 and answer + 1 or answer end end "
    "local answer = {} "
    "for i = 1, n do local turn = -2 "
    "if who ~= '' then local others = redis.pcall('HLEN', KEYS[n + i]) "
    "if type(others) == 'number' and others < 100 and type(redis.pcall('HSET', KEYS[n + i], who, '1')) == 'number' then "
    "local life = tonumber(ARGV[5]) + math.max(left[i], 0) "
    "if redis.call('PTTL', KEYS[n + i]) < life then redis.pcall('PEXPIRE', KEYS[n + i], life) end end "
    "turn = redis.pcall('SISMEMBER', KEYS[2 * n + i], '1') == 1 and redis.call('PTTL', KEYS[2 * n + i]) or -2 end "
    "answer[2 * i - 1] = left[i] answer[2 * i] = turn end return answer",
    "8ed151ecfe64112641582c4771d038481f8d62d0"};

// Locks that are shared. The lock's key holds `:=shared` then; who shares it stands in a sorted set beside it, with the end of its
// time in milliseconds of the server's clock. What has ended is taken out by whoever comes by.

/// Keys: the lock, its readers, the list of who has been denied, the hand-overs. Arguments: value, ttl in milliseconds, who asks (empty: it
/// does not wait), how long hand-overs are remembered in milliseconds, 1 to pass those who wait to have it alone. Answers 1 if we share it now, 2 if
/// somebody waits to have it alone, too. Denied, three numbers: the times to live, in milliseconds, of what keeps us out and of the hand-overs; and 0 if somebody has it alone,
/// 1 if somebody waits for that. Then nobody is noted: whoever asks again would keep a dead one's wish alive, and itself out.
inline constexpr script share_script{
    "local held, wishes, waits = redis.call('GET', KEYS[1]), redis.pcall('HGETALL', KEYS[3]), false "
    "for i = 1, #wishes, 2 do if wishes[i] ~= ARGV[3] and wishes[i + 1] ~= 'r' then waits = true end end "
    "local shared = not held or held == ':=shared' "
    "if shared and (ARGV[5] == '1' or not waits) then "
    "local t = redis.call('TIME') local now = t[1] * 1000 + math.ceil(t[2] / 1000) "
    "if not held then redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '+inf') end "
    "redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1]) "
    "redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. now) "
    "local left = redis.call('PTTL', KEYS[1]) "
    "if left ~= -1 and left < tonumber(ARGV[2]) then "
    "redis.call('SET', KEYS[1], ':=shared', 'PX', ARGV[2]) redis.call('PEXPIRE', KEYS[2], ARGV[2] + 1000) end "
    "if not held then redis.pcall('SREM', KEYS[4], '1') end "
    "if #wishes > 0 then redis.pcall('HDEL', KEYS[3], ARGV[3]) end "
    "return waits and 2 or 1 end "
    "local turn = redis.pcall('SISMEMBER', KEYS[4], '1') == 1 and redis.call('PTTL', KEYS[4]) or -2 "
    "if shared then "
    "if not held and turn < 0 and redis.call('PTTL', KEYS[3]) > tonumber(ARGV[4]) then redis.pcall('PEXPIRE', KEYS[3], ARGV[4]) end "
    "return {redis.call('PTTL', KEYS[3]), turn, 1} end "
    "local left = redis.call('PTTL', KEYS[1]) "
    "if ARGV[3] ~= '' and #wishes < 200 and type(redis.pcall('HSET', KEYS[3], ARGV[3], 'r')) == 'number' then "
    "local life = tonumber(ARGV[4]) + math.max(left, 0) "
    "if not waits and redis.call('PTTL', KEYS[3]) < life then redis.pcall('PEXPIRE', KEYS[3], life) end end "
    "return {left, turn, 0}",
    "cb8180d6c2b906d054b597455a5ea3f43d436eba"};

/// Keys: the lock, its readers; our tombstone, to heal. Arguments: value, ttl in milliseconds, 1 to heal, 1 if it was upgraded. Answers 1 if it is
/// ours, 2 if it was missing and has been set, or if it is shared and should not be; 0 otherwise. Neither of the ttls is ever shortened.
inline constexpr script extend_shared_script{
    "local held, ttl = redis.call('GET', KEYS[1]), tonumber(ARGV[2]) "
    "local left, writer = redis.call('PTTL', KEYS[1]), ARGV[4] == '1' "
    "if held == ARGV[1] then "
    "if left >= 0 and left < ttl then redis.call('PEXPIRE', KEYS[1], ttl) end return 1 end "
    "if held and held ~= ':=shared' then return 0 end "
    "local t = redis.call('TIME') local now = t[1] * 1000 + math.ceil(t[2] / 1000) "
    "local ends = held and tonumber(redis.call('ZSCORE', KEYS[2], ARGV[1]) or 0) or 0 "
    "local missing = ends < now "
    "if missing and (ARGV[3] ~= '1' or held and writer or redis.call('GET', KEYS[3])) then return 0 end "
    "if not held and writer then redis.call('SET', KEYS[1], ARGV[1], 'PX', ttl) return 2 end "
    "if not held then redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '+inf') end "
    "if ends < now + ttl then redis.call('ZADD', KEYS[2], now + ttl, ARGV[1]) end "
    "if left ~= -1 and left < ttl then redis.call('SET', KEYS[1], ':=shared', 'PX', ttl) redis.call('PEXPIRE', KEYS[2], ttl + 1000) end "
    "return (missing or writer) and 2 or 1",
    "9eb8e54dd26d6061e90992408b3f37845477db76"};

/// Keys: the lock, its readers; our tombstone, to leave it. Arguments: value; how long to leave the tombstone in milliseconds. The last to
/// leave deletes the lock. Answers 1 or 0.
inline constexpr script release_shared_script{
    "if KEYS[3] then redis.call('SET', KEYS[3], '1', 'PX', ARGV[2]) end "
    "local held = redis.call('GET', KEYS[1]) "
    "if held == ARGV[1] then return redis.call('DEL', KEYS[1]) end "
    "if held ~= ':=shared' then return 0 end "
    "local t = redis.call('TIME') local now = t[1] * 1000 + math.ceil(t[2] / 1000) "
    "redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. now) "
    "local freed = redis.call('ZREM', KEYS[2], ARGV[1]) "
    "if redis.call('ZCARD', KEYS[2]) == 0 then redis.call('DEL', KEYS[1]) end "
    "return freed",
    "e76207b98b763bbb597e9d6700c5ece1be8e3c4b"};

/// Keys: the lock, its readers, the list of who has been denied. Arguments: value, ttl in milliseconds, who waits for it (empty: it does not), how
/// long that is remembered after the lock's own end in milliseconds. Answers 1 if we have it alone, 0 if it is not ours; if others share it, too, an array of how long
/// they do at the most in milliseconds. The ttl is never shortened.
inline constexpr script upgrade_script{
    "local held, ttl = redis.call('GET', KEYS[1]), tonumber(ARGV[2]) "
    "local left = redis.call('PTTL', KEYS[1]) "
    "if held == ARGV[1] then "
    "if left >= 0 and left < ttl then redis.call('PEXPIRE', KEYS[1], ttl) end return 1 end "
    "if held ~= ':=shared' then return 0 end "
    "local t = redis.call('TIME') local now = t[1] * 1000 + math.ceil(t[2] / 1000) "
    "local ends = tonumber(redis.call('ZSCORE', KEYS[2], ARGV[1]) or 0) "
    "if ends < now then return 0 end "
    "redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. now) "
    "if redis.call('ZCARD', KEYS[2]) == 1 then "
    "redis.call('DEL', KEYS[2]) "
    "redis.call('SET', KEYS[1], ARGV[1], 'PX', math.max(ttl, ends - now)) "
    "redis.pcall('HDEL', KEYS[3], ARGV[3]) return 1 end "
    "local others = redis.pcall('HLEN', KEYS[3]) "
    "if ARGV[3] ~= '' and type(others) == 'number' and others < 100 and type(redis.pcall('HSET', KEYS[3], ARGV[3], '1')) == 'number' then "
    "local life = tonumber(ARGV[4]) + math.max(left, 0) "
    "if redis.call('PTTL', KEYS[3]) < life then redis.pcall('PEXPIRE', KEYS[3], life) end end "
    "return {left}",
    "02c77213481935a6868fb902e4001d5aa905d40a"};

/// Keys: the lock, its readers. Argument: value. Answers 1 if we share it now, with the ttl as it was, or did before; 0 if it is not ours, or
/// has no end, which somebody else must have taken from it.
inline constexpr script downgrade_script{
    "local held, left = redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1]) "
    "local t = redis.call('TIME') local now = t[1] * 1000 + math.ceil(t[2] / 1000) "
    "if held == ':=shared' then return tonumber(redis.call('ZSCORE', KEYS[2], ARGV[1]) or 0) >= now and 1 or 0 end "
    "if held ~= ARGV[1] or left < 0 then return 0 end "
    "redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '+inf') "
    "redis.call('ZADD', KEYS[2], now + left, ARGV[1]) "
    "redis.call('SET', KEYS[1], ':=shared', 'KEEPTTL') redis.call('PEXPIRE', KEYS[2], left + 1000) return 1",
    "fddfc2f16186c77d147506aef99010a130815c32"};

/// Of a server that others have made the master. Key: of its tenure. Argument: how long the key is kept, in milliseconds. Answers by which
/// replication ID it is the master, which each start and each promotion draws anew, and for how many milliseconds a client has known that at least.
inline constexpr script tenure_script{
    "local id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') "
    "if redis.call('GET', KEYS[1]) ~= id then redis.call('SET', KEYS[1], id, 'PX', ARGV[1]) end "
    "return {id, tostring(ARGV[1] - redis.call('PTTL', KEYS[1]))}",
    "f16a34c4c74cf48377a242821403835964b2be53"};

/// The script tells since when a master of a cluster has its slots. Keys: its tenure, the record. Arguments: how long the
/// keys are kept, in milliseconds, and the slots that are new there but not young, such as `5-7 9-9`. The script answers the
/// ranges of slots, each with the age of the tenure at which they came, such as `0-5460:0 5461-5461:90000`, and the age of
/// the tenure now. Slots that the tenure began with came at 0. The master itself says which slots it has. The script writes
/// a record only if it has changed.
inline constexpr script slots_script{
    "local id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') "
    "local known = redis.call('GET', KEYS[2]) or '' "
    "if redis.call('GET', KEYS[1]) ~= id then redis.call('SET', KEYS[1], id, 'PX', ARGV[1]) known = '' end "
    "local age = ARGV[1] - redis.call('PTTL', KEYS[1]) "
    "local own = string.match(redis.call('CLUSTER', 'NODES'), ' myself' .. string.rep('%S* ', 6) .. '([^\\n]*)') or '' "
    "own = string.gsub(own, '%[.-%]', '') "
    "local head = id .. ' ' .. own .. '|' "
    "if ARGV[2] == '' and string.sub(known, 1, #head) == head then return {string.sub(known, #head + 1), tostring(age)} end "
    "local new = 0 "
    "if string.sub(known, 1, #id) == id then new = age else known = '' end "
    "local at, points = {{}, {}, {}}, {} "
    "local function put(of, a, b, value) "
    "a = tonumber(a) b = tonumber(b) or a "
    "at[of][a] = value at[of][b + 1] = false points[#points + 1] = a points[#points + 1] = b + 1 end "
    "for a, b, t in string.gmatch(string.match(known, '|(.*)') or '', '(%d+)-(%d+):(%d+)') do put(1, a, b, tonumber(t)) end "
    "for a, b in string.gmatch(ARGV[2], '(%d+)-(%d+)') do put(2, a, b, 0) end "
    "for a, b in string.gmatch(own, '(%d+)%-?(%d*)') do put(3, a, b, true) end "
    "table.sort(points) "
    "local now, out, first, since = {}, {}, 0, false "
    "for _, p in ipairs(points) do "
    "for of = 1, 3 do if at[of][p] ~= nil then now[of] = at[of][p] end end "
    "local t = now[3] and (now[2] or now[1] or new) or false "
    "if t ~= since then "
    "if since then out[#out + 1] = first .. '-' .. (p - 1) .. ':' .. since end "
    "first = p since = t end end "
    "local text = table.concat(out, ' ') redis.call('SET', KEYS[2], head .. text, 'PX', ARGV[1]) return {text, tostring(age)}",
    "485d4e5af2b8a648d0e0581ceae86805f5a54844"};

/// For how long a tenure, the record of its slots, or a life marker is kept: ten years, in milliseconds.
inline constexpr std::string_view tenure_kept = "315360000000";

/// The script keeps the life marker of a server that stands alone. Keys: the life marker, the settings of the clients.
/// Arguments: how long the marker is kept, in milliseconds; a word that is different in each call; the caller's settings.
/// The script writes a new marker if there is none, if another process of the server wrote the present one, or if the server
/// has been a replica since. It answers the marker, its age in milliseconds, and the settings of other clients within the
/// last hour. It answers nothing if the server does not tell its run id. The settings are lines. Each has the age of the
/// marker at which it was last written; a client writes its line once a minute at most.
/// A marker has four words: the run id, the replication id by which the server was a replica before (zeros: it was none),
/// the run id in the marker before, or `-`, and the word of the call.
inline constexpr script life_script{
    "local function told(section, name) return string.match(redis.call('INFO', section), name .. ':(%x+)') end "
    "local run, past = told('server', 'run_id'), told('replication', 'master_replid2') or '0' "
    "if not run then return false end "
    "local mark = redis.call('GET', KEYS[1]) or '' "
    "local its_run, its_past = string.match(mark, '^(%x+) (%x+) ') "
    "if its_run ~= run or (its_past ~= past and string.find(past, '[^0]')) then "
    "mark = table.concat({run, past, its_run or '-', ARGV[2]}, ' ') "
    "redis.call('SET', KEYS[1], mark, 'PX', ARGV[1]) end "
    "local age = ARGV[1] - redis.call('PTTL', KEYS[1]) "
    "local answer, all = {mark, tostring(age)}, redis.pcall('GET', KEYS[2]) "
    "local kept, told_at = {}, nil "
    "for at, line in string.gmatch(type(all) == 'string' and all or '', '(%d+) ([^\\n]+)\\n') do "
    "local since = age - at "
    "if since >= 0 and since < 3600000 and #kept < 50 then "
    "if line ~= ARGV[3] then kept[#kept + 1] = at .. ' ' .. line .. '\\n' answer[#answer + 1] = line "
    "elseif since < 60000 then told_at = at end end end "
    "if not told_at then redis.pcall('SET', KEYS[2], table.concat(kept) .. age .. ' ' .. ARGV[3] .. '\\n', 'PX', 3600000) end "
    "return answer",
    "6e04e3b4d79f531034c7e3181770bfd52272e7b4"};

/// What each connection loads first. The rare ones are sent along when a server does not know them.
inline constexpr std::array greeted_scripts{contend_script,     extend_script,     release_script,    tombstone_script, inspect_script,
                                        acquire_all_script, contend_all_script, extend_all_script, release_all_script, raise_all_script,
                                        share_script,       extend_shared_script, release_shared_script};
inline constexpr std::array rare_scripts{acquire_any_script, upgrade_script, downgrade_script, tenure_script, slots_script, life_script};

inline constexpr auto all_scripts = [] {
    std::array<script, greeted_scripts.size() + rare_scripts.size()> all;
    std::copy(rare_scripts.begin(), rare_scripts.end(), std::copy(greeted_scripts.begin(), greeted_scripts.end(), all.begin()));
    return all;
}();

}  // namespace redlock::redis
