#pragma once

#include "tools/redlock/doctor/facts.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

/// Facts about nodes, made up from answers of servers.
namespace redlock::test::made_up {

using namespace std::chrono_literals;
using cli::reply;
using cli::doctor::clock_reading;
using cli::doctor::demands;
using cli::doctor::node_facts;

inline constexpr auto today = std::chrono::sys_days(std::chrono::year(2026) / 6 / 1);

inline reply text(std::string words) { return {.what = reply::kind::text, .text = std::move(words)}; }

inline reply list(std::vector<reply> elements) { return {.what = reply::kind::list, .elements = std::move(elements)}; }

inline reply words(std::vector<std::string> const& all)
{
    reply r{.what = reply::kind::list};
    for (auto const& w : all)
        r.elements.push_back(text(w));
    return r;
}

inline reply error(std::string words) { return {.what = reply::kind::error, .text = words, .said = words}; }

inline reply silence(std::string words = "it has not answered")
{
    return {.what = reply::kind::silence, .text = std::move(words)};
}

// Sets a field of INFO, or the value after a name in a list.
inline void set(reply& r, std::string const& name, std::string const& value)
{
    for (std::size_t i = 0; i + 1 < r.elements.size(); i += 2) {
        if (r.elements[i].text == name)
            r.elements[i + 1].text = value;
    }
    auto const at = r.text.find(name + ':');
    if (at == r.text.npos)
        r.text += name + ':' + value + "\r\n";
    else
        r.text.replace(at, r.text.find("\r\n", at) - at, name + ':' + value);
}

inline node_facts healthy(int number = 1)
{
    node_facts f{.name = fmt::format("redis://10.0.0.{}:6379", number)};
    f.place = {.host = fmt::format("10.0.0.{}", number), .port = "6379", .user = "app"};
    f.addresses = {f.place.host};
    f.hello = words({"mode", "standalone", "role", "master"});
    f.info = text(fmt::format("redis_version:7.4.1\r\nrun_id:{:040}\r\nuptime_in_seconds:100000\r\nconnected_clients:"
                              "3\r\nmaxclients:100\r\nmaxmemory:0\r\n"
                              "maxmemory_policy:noeviction\r\nused_memory:1000\r\nevicted_keys:0\r\nrejected_"
                              "connections:0\r\nconnected_slaves:0\r\n"
                              "aof_enabled:1\r\naof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0\r\naof_last_"
                              "rewrite_time_sec:-1\r\naof_last_write_status:ok\r\n",
                              number));
    f.settings = words({"appendfsync", "always", "no-appendfsync-on-rewrite", "no", "timeout", "0",
                        "slowlog-log-slower-than", "10000", "maxclients", "100"});
    f.slow_log = list({});
    f.sentinels = words({"__sentinel__:hello", "0"});
    f.time = words({"1", "2"});
    f.round_trips.assign(50, 300us);
    f.first_time = clock_reading{.theirs = 1'000'000s, .ours = 1'000'000s, .running = 10s, .error = 100us};
    f.last_time = clock_reading{.theirs = 1'000'001s, .ours = 1'000'001s, .running = 11s, .error = 100us};
    f.trials = {{"set", text("OK")}, {"get", text("trial")}};
    f.keys.is_all = true;
    f.probe.done = {"acquired", "extended", "waited for", "released"};
    f.vote.is_connected = true;
    return f;
}

inline std::vector<node_facts> healthy_set() { return {healthy(1), healthy(2), healthy(3)}; }

// The options of "redlock -u … --prefix jobs: doctor".
inline demands usual()
{
    demands d{.now = today};
    for (auto const& f : healthy_set())
        d.call.nodes.push_back({.name = f.name, .url = f.place.url()});
    d.call.of_all = {{"--prefix", "jobs:"}};
    return d;
}

}  // namespace redlock::test::made_up
