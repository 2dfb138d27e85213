// Checks the durability and the memory of a server.

#include "tools/redlock/doctor/checks.hpp"

#include "tools/redlock/args/output.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace redlock::cli::doctor {

namespace {

std::string in_bytes(double bytes)
{
    return bytes < 1024 * 1024 ? fmt::format("{:.0f} KiB", bytes / 1024)
                               : fmt::format("{:.1f} MiB", bytes / 1024 / 1024);
}

findings eviction(node_facts const& f, demands const&)
{
    auto const limit = f.number("maxmemory"), used = f.number("used_memory"), evicted = f.number("evicted_keys");
    auto const policy = printable(f.info.field("maxmemory_policy"));
    bool const evicts = policy != "noeviction";
    finding found{.values = {{"maxmemory_bytes", limit}, {"used_memory_bytes", used}, {"evicted_keys", evicted}}};
    if (evicts && limit > 0) {
        found.level = level::critical;
        found.why = fmt::format(
            "with maxmemory-policy {} and maxmemory {} it may delete a lock that is held, so the library refuses it",
            policy, in_bytes(static_cast<double>(limit)));
        found.fix = set_setting(f, "maxmemory-policy noeviction");
    } else if (evicted > 0) {
        found.level = level::warning;
        found.why =
            fmt::format("it has evicted {} since its start, and locks may have been among them; now it evicts none",
                        counted(evicted, "key"));
        found.fix = f.place.admin_client() + " CONFIG RESETSTAT";
    } else if (limit > 0 && used * 10 > limit * 9) {
        found.level = level::warning;
        found.why = fmt::format("{} of {} (maxmemory) are used: when it is full it grants no locks",
                                in_bytes(static_cast<double>(used)), in_bytes(static_cast<double>(limit)));
        found.fix = set_setting(f, fmt::format("maxmemory {}", limit * 2));
    } else {
        found.why = evicts ? "it has no maxmemory, so it evicts nothing"
                           : "maxmemory-policy is noeviction, and nothing was evicted";
    }
    return {std::move(found)};
}

// Reports the first problem, in the order in which the operator must fix them.
findings durability(node_facts const& f, demands const& d)
{
    if (f.settings.failed())
        return {unread(f, d, f.settings, "durability", "config|get")};
    auto const state = durability_of(f);
    auto const after =
        fmt::format("it forgets locks when it restarts, and does not vote for {} (max_ttl) then", in_words(d.max_ttl));
    // A server without a configuration file cannot rewrite it.
    auto const keep = f.info.field("config_file").empty()
                          ? std::string()
                          : fmt::format(" && {} CONFIG REWRITE", f.place.admin_client());
    auto const lacks = [](std::string why, std::string fix, level l = level::warning) {
        return findings{{.level = l, .why = std::move(why), .fix = std::move(fix)}};
    };
    switch (state.lacks) {
    case durability_state::lack::nothing:
        return {{.why = "it has a durable log, and votes at once after a restart"}};
    case durability_state::lack::log:
        // The order is important: docs/fencing.md.
        return lacks("appendonly is no: " + after,
                     fmt::format("{} && {} && {}  # then, when its first rewrite is done: CONFIG REWRITE",
                                 set_setting(f, "appendfsync always"), set_setting(f, "no-appendfsync-on-rewrite no"),
                                 set_setting(f, "appendonly yes")));
    case durability_state::lack::written:
        return lacks("the last write to its log has failed: " + after,
                     "df -h  # on its host: make room if the disk is full, else read the log of the server",
                     level::critical);
    case durability_state::lack::synced:
        return lacks(
            fmt::format("appendfsync is {}, not always: {}", printable(f.settings.field("appendfsync")), after),
            set_setting(f, "appendfsync always") + keep);
    case durability_state::lack::synced_on_rewrite:
        return lacks("no-appendfsync-on-rewrite is yes: while the log is rewritten it is not written through, and "
                         + after,
                     set_setting(f, "no-appendfsync-on-rewrite no") + keep);
    case durability_state::lack::complete:
        return lacks("its log is being rewritten: if it was switched on just now, and the server is killed before that "
                     "is done, "
                         + after,
                     f.place.client() + " INFO persistence  # repeat it until aof_rewrite_in_progress is 0");
    }
    return {};
}

// A line for a shell. If a word has bytes that cannot be copied from a terminal, the line pipes the command to
// redis-cli, which reads escapes such as "\x07".
std::string line_for(std::string const& client, std::vector<std::string> const& words)
{
    std::string line = client, prompt;
    for (auto const& word : words) {
        line += ' ' + shell_word(word);
        prompt += prompt.empty() ? "\"" : " \"";
        for (unsigned char const c : word) {
            bool const is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ':'
                                  || c == '-';
            prompt += is_plain ? std::string(1, static_cast<char>(c)) : fmt::format("\\x{:02x}", c);
        }
        prompt += '"';
    }
    return printable(line) == line ? line : fmt::format("printf '%s\\n' '{}' | {}", prompt, client);
}

std::string in_database(node_facts const& f, std::string const& client)
{
    return f.place.database == 0 ? client : fmt::format("{} -n {}", client, f.place.database);
}

std::string listed(key_facts::named const& keys, bool with_types)
{
    std::string all;
    for (auto const& k : keys.first) {
        auto const life = k.left ? ", for " + in_words(*k.left) : std::string();
        all += fmt::format("{}{}{}", all.empty() ? "" : ", ", printable(k.name),
                           with_types ? fmt::format(" ({}{})", printable(k.type), life) : "");
    }
    return keys.count > keys.first.size() ? fmt::format("{} and {} more", all, keys.count - keys.first.size()) : all;
}

// Whether the key looks as if nobody holds a lock by it. Nothing proves it: older lock code sets no expiry, and a
// holder that only works does not touch its key.
bool is_left_behind(key_facts::key const& k, demands const& d) { return !k.left && k.idle && *k.idle >= d.max_ttl; }

key_facts::key const& to_fix(key_facts::named const& keys, demands const& d)
{
    auto const left = std::ranges::find_if(keys.first, [&](auto const& k) { return is_left_behind(k, d); });
    return left == keys.first.end() ? keys.first.front() : *left;
}

std::string ask_for_use(node_facts const& f, key_facts::key const& k)
{
    bool const counts = f.info.field("maxmemory_policy").find("lfu") != std::string::npos;
    return line_for(in_database(f, f.place.admin_client()), {"OBJECT", counts ? "FREQ" : "IDLETIME", k.name})
           + (counts ? "  # how often it was used lately: " : "  # the seconds since it was used: ");
}

// The line must not take a lock from its holder, so it only asks unless the key looks as if it was left behind.
std::string fix_endless(node_facts const& f, demands const& d)
{
    auto const& k = to_fix(f.keys.endless, d);
    auto const client = in_database(f, f.place.client());
    if (!is_left_behind(k, d))
        return ask_for_use(f, k) + "a client may hold it, as older lock code sets no expiry";
    return line_for(client, {"PEXPIRE", k.name, std::to_string(d.max_ttl.count())})
           + fmt::format("  # if its holder has ended; unused for {}", in_words(*k.idle));
}

std::string fix_foreign(node_facts const& f, demands const& d)
{
    auto const& k = to_fix(f.keys.foreign, d);
    auto const client = in_database(f, f.place.client());
    if (k.left)
        return line_for(client, {"PTTL", k.name})
               + fmt::format("  # another kind of client holds it for {}: stop that client first, or choose another "
                             "--prefix",
                             in_words(*k.left));
    if (!is_left_behind(k, d))
        return ask_for_use(f, k) + "if a program uses it, choose another --prefix";
    return line_for(in_database(f, f.place.admin_client()), {"RENAMENX", k.name, "no-" + k.name})
           + fmt::format("  # if no program uses it any more, else choose another --prefix; unused for {}",
                         in_words(*k.idle));
}

std::string looked_at(node_facts const& f, demands const& d)
{
    auto const& k = f.keys;
    return fmt::format("{} looked at{}, {} with the prefix {}", counted(static_cast<std::int64_t>(k.looked_at), "key"),
                       k.is_all ? "" : ", others are there (--keys)", k.found, printable(d.prefix));
}

findings keys(node_facts const& f, demands const& d)
{
    auto const& k = f.keys;
    if (k.refusal.failed())
        return {unread(f, d, k.refusal, "keys", k.refused)};
    findings all;
    if (k.endless.count > 0)
        all.push_back({.level = level::warning,
                       .why = fmt::format("{} without an expiry, which nobody releases: {}; {}",
                                          counted(static_cast<std::int64_t>(k.endless.count), "key"),
                                          listed(k.endless, false), looked_at(f, d)),
                       .fix = fix_endless(f, d),
                       .values = {{"endless_keys", k.endless.count}}});
    if (k.foreign.count > 0)
        all.push_back({.level = level::warning,
                       .why = fmt::format("{} of another type than those of locks, so nobody gets these locks: {}; {}",
                                          counted(static_cast<std::int64_t>(k.foreign.count), "key"),
                                          listed(k.foreign, true), looked_at(f, d)),
                       .fix = fix_foreign(f, d),
                       .values = {{"foreign_keys", k.foreign.count}}});
    if (all.empty())
        all.push_back({.why = fmt::format("all of them belong to locks and have an expiry: {}", looked_at(f, d)),
                       .values = {{"keys", k.found}}});
    return all;
}

findings counters(node_facts const& f, demands const& d)
{
    auto const& k = f.keys;
    if (k.refusal.failed())
        return {unread(f, d, k.refusal, "counters", k.refused)};
    if (k.counters == 0)
        return {
            {.why = fmt::format("there are no fencing counters; {}", looked_at(f, d)), .values = {{"counters", 0}}}};
    if (k.unmeasured.failed())
        return {unread(f, d, k.unmeasured, "counters", "memory|usage")};
    auto const each = k.measured == 0 ? 0.0 : static_cast<double>(k.measured_bytes) / static_cast<double>(k.measured);
    auto const bytes = each * static_cast<double>(k.counters);
    auto const limit = static_cast<double>(f.number("maxmemory"));
    finding found{.why = fmt::format("{} of fencing, one for each resource and for ever, take about {}",
                                     counted(static_cast<std::int64_t>(k.counters), "counter"), in_bytes(bytes)),
                  .values = {{"counters", k.counters}, {"counter_bytes", static_cast<std::int64_t>(bytes)}}};
    if (limit > 0 && bytes * 2 > limit) {
        found.level = level::warning;
        found.why += fmt::format(", more than half of maxmemory ({})", in_bytes(limit));
        found.fix = set_setting(f, fmt::format("maxmemory {}", f.number("maxmemory") * 2))
                    + "  # and fence fewer names: docs/fencing.md";
    }
    return {std::move(found)};
}

constexpr std::array all_of_memory{
    check{"eviction", &node_facts::info, "info", "maxmemory_policy", eviction},
    check{"durability", &node_facts::info, "info", "aof_enabled", durability},
    check{"keys", nullptr, "", "", keys},
    check{"counters", nullptr, "", "", counters},
};

}  // namespace

constinit std::span<check const> const memory_checks{all_of_memory};

}  // namespace redlock::cli::doctor
