#pragma once

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

/// With fencing. Keys: the lock, our tombstone, the counter. Arguments: value, ttl in milliseconds, hint.
/// Answers the counter; or an array, if it is denied: the time to live of the lock, and 1 if it has our own value.
/// The counter is written first, so that an error leaves no lock behind. A hint that is more than an hour ahead of both the
/// counter and the server's clock is ignored.
inline constexpr script acquire_script{
    "if redis.call('EXISTS', KEYS[1], KEYS[2]) ~= 0 then "
    "return {redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[1]) == ARGV[1] and 1 or 0} end "
    "local fence = tonumber(redis.call('GET', KEYS[3]) or 0) + 1 "
    "local hint = tonumber(ARGV[3]) "
    "if fence < hint and (hint <= fence + 3600000000 or hint <= (redis.call('TIME')[1] + 3600) * 1000000) then "
    "fence = hint redis.call('SET', KEYS[3], ARGV[3]) "
    "else redis.call('SET', KEYS[3], string.format('%.0f', fence)) end "
    "redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) "
    "return fence",
    "baa5b604c2a6190854acd060fa213ba898e87123"};

/// Keys: the lock; our tombstone, to heal or with fencing; the counter, with fencing. Arguments: value, ttl in milliseconds,
/// 1 to heal, token or 0. Answers 1 if it is ours, 2 if it was missing and has been set, 0 otherwise. The ttl is never
/// shortened: an extension that was delayed on its way must not cut off a later and longer one. (`SET … IFEQ` could do so,
/// which is why it is not used.)
inline constexpr script extend_script{
    "local held = redis.call('GET', KEYS[1]) "
    "if held ~= ARGV[1] and (held or ARGV[3] ~= '1' or redis.call('GET', KEYS[2])) then return 0 end "
    "if ARGV[4] ~= '0' and tonumber(redis.call('GET', KEYS[3]) or 0) < tonumber(ARGV[4]) then "
    "redis.call('SET', KEYS[3], ARGV[4]) end "
    "if not held then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 2 end "
    "local left = redis.call('PTTL', KEYS[1]) "
    "if left >= 0 and left < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 1",
    "f9d3c4be1db56cd5868c4d1fdfea43a881e4cd81"};

/// Without fencing and without a tombstone. Answers 1 or 0.
inline constexpr script release_script{
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0",
    "6fbe84d1140fd2047394924af9d845b83c070bec"};

/// With fencing, without a tombstone. Keys: the lock, the counter. Arguments: value, token. Answers 1 or 0.
inline constexpr script fenced_release_script{
    "local known = redis.call('MGET', KEYS[1], KEYS[2]) "
    "if known[1] ~= ARGV[1] then return 0 end "
    "if known[2] ~= ARGV[2] and tonumber(known[2] or 0) < tonumber(ARGV[2]) then redis.call('SET', KEYS[2], ARGV[2]) end "
    "return redis.call('DEL', KEYS[1])",
    "fe5d54167de58bac122469340988870ae97de101"};

/// Keys: the lock; our tombstone; the counter, with fencing. Arguments: value, how long to leave a tombstone in milliseconds
/// or 0, token or 0. Answers 1 or 0.
inline constexpr script bury_script{
    "if ARGV[2] ~= '0' then redis.call('SET', KEYS[2], '1', 'PX', ARGV[2]) end "
    "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
    "if ARGV[3] ~= '0' and tonumber(redis.call('GET', KEYS[3]) or 0) < tonumber(ARGV[3]) then "
    "redis.call('SET', KEYS[3], ARGV[3]) end "
    "return redis.call('DEL', KEYS[1])",
    "0c3196a87cdd60ea00537485ac560fc56d82db21"};

/// Answers the value and the remaining time to live in milliseconds, or nothing.
inline constexpr script inspect_script{
    "local value = redis.call('GET', KEYS[1]) "
    "if not value then return false end return {value, redis.call('PTTL', KEYS[1])}",
    "0d0e63f45ee4c6b197c5c52b41305a601e322e1f"};

inline constexpr std::array all_scripts{acquire_script, extend_script,  release_script, fenced_release_script,
                                       bury_script,    inspect_script};

}  // namespace redlock::redis
