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

/// An acquisition that looks for others. Keys: the lock, the list of who has been denied lately, the turn of a process. Arguments:
/// value, ttl in milliseconds, who asks, how long a turn is remembered, and that somebody was denied after the lock's own end, in
/// milliseconds, 1 if more of the same process follow. Fails if the lock is no string. Answers 1 if it is granted, 2 if others want it, too, and if it is denied an
/// array of the times to live of lock and turn in milliseconds. Reading them is what the server remembers, to tell us when they
/// change. A user who may not keep the list and the turn can lock all the same; and where a stranger keeps a string under one of
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

/// Keys: the lock; the turn of our process, if nobody of it follows. Argument: value. Answers 1 or 0.
inline constexpr script release_script{
    "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
    "redis.call('DEL', KEYS[1]) "
    "if KEYS[2] then redis.pcall('SREM', KEYS[2], '1') end return 1",
    "d8d337ea1a874c6b7a7cdbe018ce3dc6a866d57f"};

/// A release that leaves a tombstone. Keys: the lock, our tombstone. Arguments: value, how long to leave the tombstone in
/// milliseconds. Answers 1 or 0.
inline constexpr script bury_script{
    "redis.call('SET', KEYS[2], '1', 'PX', ARGV[2]) "
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0",
    "6f977cdfd2ededabe64ac7efb05e9c00ef82c07d"};

/// Answers the value and the remaining time to live in milliseconds, or nothing.
inline constexpr script inspect_script{
    "local value = redis.call('GET', KEYS[1]) "
    "if not value then return false end return {value, redis.call('PTTL', KEYS[1])}",
    "0d0e63f45ee4c6b197c5c52b41305a601e322e1f"};

inline constexpr std::array all_scripts{contend_script, extend_script, release_script, bury_script, inspect_script};

}  // namespace redlock::redis
