#pragma once

#include <string_view>

// The texts that the algorithms send to their servers. The simulated servers recognise each text and do what it says.
namespace redlock::sim::gallery {

/// KEYS: the lock. ARGV: the client's value.
inline constexpr std::string_view delete_if_equal = R"(
if redis.call("get", KEYS[1]) == ARGV[1] then
    return redis.call("del", KEYS[1])
end
return 0)";

/// KEYS: the lock. ARGV: the time now, and the time when the lock ends.
inline constexpr std::string_view take_if_over = R"(
local over = redis.call("get", KEYS[1])
if not over or tonumber(over) < tonumber(ARGV[1]) then
    redis.call("set", KEYS[1], ARGV[2])
    return 1
end
return 0)";

/// KEYS: the lock. ARGV: the time when the lock ends, the ttl, and the time now, in seconds.
inline constexpr std::string_view set_or_take_over = R"(
if redis.call("setnx", KEYS[1], ARGV[1]) == 1 then
    redis.call("expire", KEYS[1], ARGV[2])
    return 1
end
if tonumber(redis.call("get", KEYS[1])) < tonumber(ARGV[3]) then
    redis.call("getset", KEYS[1], ARGV[1])
    return 1
end
return 0)";

/// KEYS: the lock. ARGV: the time now.
inline constexpr std::string_view delete_if_over = R"(
if tonumber(redis.call("get", KEYS[1])) < tonumber(ARGV[1]) then
    return redis.call("del", KEYS[1])
end
return 0)";

/// $1 the lock, $2 the owner.
inline constexpr std::string_view insert_row = "INSERT INTO locks (name, owner) VALUES ($1, $2)";

/// $1 the lock, $2 the owner, $3 the time now, $4 the time when the lock ends, both by the client's clock.
inline constexpr std::string_view take_row_by_clients_clock = R"(
INSERT INTO locks (name, owner, over) VALUES ($1, $2, $4)
ON CONFLICT (name) DO UPDATE SET owner = $2, over = $4 WHERE locks.over < $3)";

/// $1 the lock, $2 the owner, $3 the ttl in milliseconds.
inline constexpr std::string_view take_row_by_servers_clock = R"(
INSERT INTO locks (name, owner, over) VALUES ($1, $2, now() + $3)
ON CONFLICT (name) DO UPDATE SET owner = $2, over = now() + $3 WHERE locks.over < now())";

/// $1 the lock, $2 the owner.
inline constexpr std::string_view delete_row = "DELETE FROM locks WHERE name = $1 AND owner = $2";

}  // namespace redlock::sim::gallery
