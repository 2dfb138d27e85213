#pragma once

#include "stores/redis/greeting.hpp"
#include "support/resp_commands.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test::replies {

using redlock::stores::redis::resp::type;
using stores::redis::reply;

inline stores::redis::reply text(std::string t)
{
    return {.type = stores::redis::resp::type::blob_string, .text = std::move(t), .elements = {}};
}
inline stores::redis::reply word(std::string t)
{
    return {.type = stores::redis::resp::type::simple_string, .text = std::move(t), .elements = {}};
}
inline stores::redis::reply number(int n)
{
    return {.type = stores::redis::resp::type::number, .text = std::to_string(n), .elements = {}};
}
inline stores::redis::reply nothing() { return {.type = stores::redis::resp::type::null, .text = {}, .elements = {}}; }
inline stores::redis::reply refused(std::string words)
{
    return {.type = stores::redis::resp::type::simple_error, .text = std::move(words), .elements = {}};
}
inline stores::redis::reply list(stores::redis::resp::type t, std::vector<std::string> all)
{
    return {.type = t, .text = {}, .elements = std::move(all)};
}

/// A version of a server. The defaults are those of Redis 7.0.
struct version {
    std::string number = "7.0.15";
    std::vector<std::string> deletions{"del"};  ///< reply to COMMAND LIST; empty: the version does not know it
    bool set_get = true;                        ///< knows SET … NX … GET
    bool zadd_gt = true;
    std::string role = "master";
    std::string mode = "standalone";
    std::string memory = "maxmemory:0\r\nmaxmemory_policy:noeviction\r\n";
    std::string persistence = "loading:0\r\naof_enabled:0\r\n";
    /// Returns the answer to a command; nothing: the usual one.
    std::function<std::optional<stores::redis::reply>(command const&)> answer = [](command const&) {
        return std::nullopt;
    };
};

/// The answers of a server to the greeting of a client.
struct server : version {
    explicit server(version v) : version(std::move(v)) {}

    /// Returns the answers to all commands of @p asked.
    std::vector<stores::redis::reply> answers(stores::redis::request const& asked)
    {
        std::vector<stores::redis::reply> all;
        for (auto const& c : take_commands(asked.bytes())) {
            auto const special = answer(c);
            all.push_back(special ? *special : usual(c));
        }
        return all;
    }

private:
    stores::redis::reply usual(command const& c)
    {
        auto const& name = c[0];
        if (name == "HELLO")
            return list(stores::redis::resp::type::map, {"server", "redis", "version", version::number, "proto", "3",
                                                         "id", "7", "mode", mode, "role", role, "modules", ""});
        if (name == "INFO")
            return {.type = stores::redis::resp::type::verbatim_string,
                    .text = "txt:"
                            + (c[1] == "server"
                                   ? "redis_version:" + version::number + "\r\nrun_id:abc\r\nuptime_in_seconds:42\r\n"
                               : c[1] == "memory" ? memory
                                                  : persistence),
                    .elements = {}};
        if (name == "CONFIG")
            return list(stores::redis::resp::type::map, {"no-appendfsync-on-rewrite", "no", "appendfsync", "everysec"});
        if (name == "COMMAND")
            return deletions.empty()
                       ? refused("ERR Unknown subcommand or wrong number of arguments for 'LIST'. Try COMMAND HELP.")
                       : list(stores::redis::resp::type::array, deletions);
        if (name == "SCRIPT")
            return text(std::string(
                std::find_if(stores::redis::all_scripts.begin(), stores::redis::all_scripts.end(), [&](auto& s) {
                    return s.source == c[2];
                })->sha1));
        if (name == "EVALSHA" && c[1] == stores::redis::record_script.sha1)
            return list(stores::redis::resp::type::array, {"f00d", "r", "42000", "0", "", "abc"});
        if (name == "SET")
            return set(c);
        if (name == "GET")
            return text(value_);
        if (name == "ZADD" && !zadd_gt)
            return refused("ERR syntax error");
        if (name == "ZINCRBY")
            return {.type = stores::redis::resp::type::real, .text = "2", .elements = {}};
        if (name == "CLIENT" || name == "SELECT")
            return word("OK");
        return replies::number(1);
    }

    stores::redis::reply set(command const& c)
    {
        bool const get = c.back() == "GET";
        if (get && !set_get)
            return refused("ERR syntax error");
        auto const before = value_;
        if (before.empty())
            value_ = c[2];
        if (get)
            return before.empty() ? nothing() : text(before);
        return before.empty() ? word("OK") : nothing();
    }

    std::string value_;
};

// An `answer` that refuses the command @p name, and answers others as usual.
inline auto refuses(std::string name, std::string words)
{
    return [=](command const& c) { return c[0] == name ? std::optional(refused(words)) : std::nullopt; };
}

}  // namespace redlock::test::replies
