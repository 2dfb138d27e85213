#pragma once

#include <string_view>

namespace redlock::redis {

/// A Lua script and the SHA-1 of its bytes, by which the server knows it.
struct script {
    std::string_view source;
    std::string_view sha1;
};

// Each takes the key and our value, and answers 1 or 0. Comparing and acting are one step on the server.
// A test compares the digests with those that the server computes.

inline constexpr script release_script{
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0",
    "6fbe84d1140fd2047394924af9d845b83c070bec"};

/// The third argument is the ttl in milliseconds. It never shortens: an extension that was delayed on its way must
/// not cut off a later and longer one. (`SET … IFEQ` could do so, which is why it is not used.)
inline constexpr script extend_script{
    "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
    "local left = redis.call('PTTL', KEYS[1]) "
    "if left >= 0 and left < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 1",
    "b8b0d583baafeb7a8eeb6375463ffd777b7ad1aa"};

/// Answers the value and the remaining time to live in milliseconds, or nothing.
inline constexpr script inspect_script{
    "local value = redis.call('GET', KEYS[1]) "
    "if not value then return false end return {value, redis.call('PTTL', KEYS[1])}",
    "0d0e63f45ee4c6b197c5c52b41305a601e322e1f"};

}  // namespace redlock::redis
