#include "tools/redlock/args/permissions.hpp"

#include "tools/redlock/args/option_parser.hpp"
#include "tools/redlock/args/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

namespace redlock::cli {

namespace {

constexpr bool always(uses const&) { return true; }
constexpr bool locks(uses const& u) { return !u.look; }
constexpr bool fencing(uses const& u) { return u.fencing; }
constexpr bool waiting(uses const& u) { return u.waiting; }
constexpr bool looks(uses const& u) { return u.look; }
constexpr bool notified(uses const& u) { return u.waiting || u.look; }
constexpr bool shared(uses const& u) { return u.shared; }
constexpr bool counts(uses const& u) { return u.fencing || u.shared || u.move; }
constexpr bool scores(uses const& u) { return u.shared || u.move; }
constexpr bool scans(uses const& u) { return u.doctor || u.move || u.look; }
constexpr bool names(uses const& u) { return u.shared || u.waiting || u.look; }
constexpr bool readers(uses const& u) { return u.shared || u.look; }
constexpr bool database(uses const& u) { return u.database; }
constexpr bool cluster(uses const& u) { return u.cluster && !u.look; }
constexpr bool doctor(uses const& u) { return u.doctor; }
constexpr bool times(uses const& u) { return u.shared || u.doctor || u.look; }
constexpr bool only_waiting(uses const& u) { return u.waiting && !times(u); }

// In the order of the tests: SET sets the key to a string, so the later commands change no other key. All versions
// since Redis 6 have these commands, except COMMAND LIST, which needs Redis 7.
constexpr std::array every_permission{
    permission{"hello", always, true, "no connection is opened", ""},
    permission{"set", locks, true, "nothing is acquired", "SET KEY trial NX PX 1000"},
    permission{"get", always, true, "nothing is extended or released", "GET KEY"},
    permission{"pexpire", locks, true, "nothing is extended", "PEXPIRE KEY 1000"},
    permission{"pttl", always, true, "nothing is extended", "PTTL KEY"},
    permission{"script|load", always, true, "no server knows the scripts that extend and release",
               "SCRIPT LOAD return"},
    permission{"evalsha", always, true, "nothing is extended or released",
               "EVALSHA 63143b6f8007b98c53ca2149822777b3566f9241 0"},
    permission{"ping", looks, false, "each heartbeat leaves a line in ACL LOG", "PING"},
    permission{"info", always, true, "no server votes, because it cannot tell whether it has restarted", "INFO server"},
    permission{"config|get", locks, false, "a server with a durable log is not known to have one",
               "CONFIG GET appendfsync"},
    permission{"command|list", locks, false,
               "a script deletes keys where a command could, and each connection leaves a line in ACL LOG",
               "COMMAND LIST FILTERBY PATTERN del*"},
    permission{"zadd", counts, true, "no fencing token is drawn, and nothing is shared", "ZADD KEY 1 token"},
    permission{"zincrby", fencing, true, "no fencing token is drawn if two clients acquire at the same time",
               "ZINCRBY KEY 1 token"},
    permission{"zscore", scores, true, "nothing is shared", "ZSCORE KEY token"},
    permission{"zrem", shared, true, "nothing is shared", "ZREM KEY token"},
    permission{"zcard", shared, true, "nothing is shared", "ZCARD KEY"},
    permission{"zremrangebyscore", shared, true, "nothing is shared", "ZREMRANGEBYSCORE KEY 0 0"},
    permission{"time", times, true, "nothing is shared", "TIME"},
    permission{"time", only_waiting, false, "all waiting processes ask at once when a lock is released", "TIME"},
    permission{"hgetall", names, false, "nobody sees who waits, and readers pass writers that wait", "HGETALL KEY"},
    permission{"zrange", readers, false, "nobody sees the readers of a shared lock", "ZRANGE KEY 0 0"},
    permission{"client|tracking", notified, false, "waiters poll instead of being notified", "CLIENT TRACKING OFF"},
    permission{"client|caching", notified, false, "waiters poll instead of being notified", "CLIENT CACHING YES"},
    permission{"hset", waiting, false, "the order of waiting processes is random", "HSET KEY trial 1"},
    permission{"hdel", waiting, false, "the order of waiting processes is random", "HDEL KEY trial"},
    permission{"hget", waiting, false, "all waiting processes ask at once when a lock is released", "HGET KEY trial"},
    permission{"hlen", waiting, false, "the order of waiting processes is random", "HLEN KEY"},
    permission{"sadd", waiting, false, "the order of waiting processes is random", "SADD KEY 1"},
    permission{"srem", waiting, false, "the order of waiting processes is random", "SREM KEY 1"},
    permission{"sismember", waiting, false, "the order of waiting processes is random", "SISMEMBER KEY 1"},
    permission{"select", database, true, "a database other than 0 cannot be used", ""},
    permission{"cluster|nodes", cluster, true, "no member votes, because its record lacks its slots", ""},
    permission{"scan", scans, true, "keys are not checked", ""},
    permission{"type", doctor, true, "keys are not checked", ""},
    permission{"memory|usage", doctor, true, "the memory of counters is not known", ""},
    permission{"slowlog|get", doctor, true, "slow commands are not seen", ""},
    permission{"pubsub|numsub", doctor, true, "Sentinels are not seen", ""},
    permission{"del", locks, true, "nothing is released", "DEL KEY"},
};

}  // namespace

void uses::add_to(option_parser& line)
{
    line.add_flag("--fencing", fencing, "locks have fencing tokens");
    line.add_flag("--waiting", waiting,
                  "waiters are notified when a lock is released, and processes take turns; without it, waiters poll");
    line.add_flag("--shared", shared, "locks are shared");
    line.add_flag("--sets", sets, "several locks are acquired at once");
}

std::vector<std::string> permission::question(std::string const& key) const
{
    std::istringstream words{std::string(trial)};
    std::vector<std::string> all;
    for (std::string word; words >> word;)
        all.push_back(word == "KEY" ? key : word);
    return all;
}

std::span<permission const> permissions() { return every_permission; }

std::string rules_for(uses const& u)
{
    std::string rules;
    for (auto const& p : every_permission) {
        if (p.is_needed(u))
            rules += fmt::format("{}+{}", rules.empty() ? "" : " ", p.name);
    }
    return rules;
}

std::string pattern_of(std::string_view prefix) { return escaped(prefix, "*?[]\\^") + '*'; }

std::string shell_quoted(std::string_view word)
{
    std::string text = "'";
    for (char const c : word)
        text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + '\'';
}

std::string shell_word(std::string_view word)
{
    auto const is_plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
               || std::string_view("_-+=:,./@%").find(c) != std::string_view::npos;
    };
    return !word.empty() && std::ranges::all_of(word, is_plain) ? std::string(word) : shell_quoted(word);
}

}  // namespace redlock::cli
