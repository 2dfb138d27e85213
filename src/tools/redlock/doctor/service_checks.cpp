// Checks the kind and the version of a server, and its load.

#include "tools/redlock/doctor/checks.hpp"
#include "tools/redlock/doctor/releases.hpp"

#include "tools/redlock/args/output.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace redlock::cli::doctor {

namespace {

using namespace std::chrono_literals;

// Returns, for example, "redis" and "7.0.15".
std::pair<std::string, std::string> version_of(node_facts const& f)
{
    auto const valkey = f.info.field("valkey_version");
    return valkey.empty() ? std::pair(std::string("redis"), f.info.field("redis_version"))
                          : std::pair(std::string("valkey"), valkey);
}

// The call with the primary in place of its replica, or without the replica if the primary is already a node.
std::string name_primary(node_facts const& f, demands const& d, std::string const& host, std::string const& port)
{
    auto const primary = f.place.at(host, port);
    auto name = primary;
    name.user.clear();
    name.database = 0;
    return (d.call.has_node(name.url()) ? d.call.without_node(f.name) : d.call.with_node(f.name, primary.url())).line();
}

finding replica_of_its_primary(node_facts const& f, demands const& d)
{
    auto const host = f.info.field("master_host"), port = f.info.field("master_port");
    if (host.empty())
        return {.level = level::critical,
                .why = "it is a replica, and a replica does not vote: name its primary",
                .fix = f.place.admin_client() + " INFO replication  # master_host and master_port are the primary"};
    return {.level = level::critical,
            .why = fmt::format("it is a replica of {}:{}, and a replica does not vote: name the primary in its place",
                               printable(host), port),
            .fix = name_primary(f, d, host, port)};
}

// The call with the Sentinel's service. It has no user, because a Sentinel and its servers have different credentials.
std::string through_sentinel(node_facts const& f, demands const& d)
{
    auto const service = f.services.elements.empty() ? std::string("NAME") : f.services.elements.front().field("name");
    return d.call
        .with_node(f.name, fmt::format("redis{}-sentinel://{}/{}", f.place.has_tls ? "s" : "", f.place.host_and_port(),
                                       service))
        .line();
}

std::string through_cluster(node_facts const& f, demands const& d)
{
    auto const whose = f.place.user == "default" ? std::string() : percent_encoded(f.place.user) + '@';
    return d.call
        .with_node(f.name,
                   fmt::format("redis{}-cluster://{}{}", f.place.has_tls ? "s" : "", whose, f.place.host_and_port()))
        .line();
}

findings role(node_facts const& f, demands const& d)
{
    auto const mode = f.hello.field("mode"), role = f.hello.field("role");
    if (mode == "sentinel")
        return {{.level = level::critical,
                 .why = "this is a Sentinel, which keeps no locks: name the service that it watches",
                 .fix = through_sentinel(f, d)}};
    if (mode == "cluster")
        return {{.level = level::critical,
                 .why = "it is a member of a cluster and keeps only some of the keys: name the cluster, which is one "
                        "node, or independent servers",
                 .fix = through_cluster(f, d)}};
    if (role != "master")
        return {replica_of_its_primary(f, d)};
    return {{.why = "it is a primary on its own"}};
}

findings replicas(node_facts const& f, demands const& d)
{
    auto const count = f.number("connected_slaves");
    if (count == 0)
        return {{.why = "no replicas are attached"}};
    return {{.level = level::warning,
             .why = fmt::format("{} attached: a replica that becomes the primary may miss a lock that is held",
                                count == 1 ? "a replica is" : fmt::format("{} replicas are", count)),
             .fix = fmt::format(
                 "{} INFO replication  # lists them: promote none before the primary has been down for {} (max_ttl)",
                 f.place.client(), in_words(d.max_ttl)),
             .values = {{"replicas", count}}}};
}

findings sentinel(node_facts const& f, demands const&)
{
    auto const& answer = f.sentinels.elements;
    auto const count = answer.size() == 2 ? answer[1].number().value_or(0) : 0;
    if (count == 0)
        return {{.why = "no Sentinel watches it"}};
    return {{.level = f.number("connected_slaves") > 0 ? level::critical : level::warning,
             .why = fmt::format("{} it: after a failover the new primary may miss a lock that is held; name the "
                                "service, which is quarantined then",
                                count == 1 ? "a Sentinel watches" : fmt::format("{} Sentinels watch", count)),
             .fix = f.place.admin_client()
                    + " SUBSCRIBE __sentinel__:hello | sed -n '/,/{p;q;}'"
                      "  # HOST,PORT,ID,EPOCH,NAME,…: use redis-sentinel://HOST:PORT/NAME",
             .values = {{"sentinels", count}}}};
}

// A distribution may have no newer package for its release. So the line only shows the available versions, and upgrades
// nothing.
std::string show_newer(node_facts const& f, bool is_redis)
{
    auto const host = f.place.host.empty() ? "this host" : f.place.host;
    return fmt::format("apt-cache policy {}-server  # on {}; if this offers no newer release: https://{}",
                       is_redis ? "redis" : "valkey", host, is_redis ? "packages.redis.io" : "valkey.io/download");
}

findings version(node_facts const& f, demands const& d)
{
    auto const [server, number] = version_of(f);
    bool const is_redis = server == "redis";
    auto const project = is_redis ? "Redis" : "Valkey";
    auto const shown = fmt::format("{} {}", project, printable(number));
    auto const newer = show_newer(f, is_redis);
    if (is_redis && release_number(number) < 600)
        return {{.level = level::critical, .why = shown + " is too old: locks need 6.0", .fix = newer}};
    if (is_redis && d.used.fencing && release_number(number) < 602)
        return {{.level = level::critical, .why = shown + " is too old: fencing needs 6.2", .fix = newer}};
    auto const life = life_of(server, number);
    if (life.is_newer)
        return {{.why = shown + " is newer than this version of redlock knows", .is_remark = true}};
    if (!life.is_known)
        return {{.level = level::unknown,
                 .why = shown + " is no release that this version of redlock knows",
                 .fix = f.place.client() + " INFO server"}};
    if (!life.ends)
        return {{.why = shown + " is supported; no end of life is announced"}};
    if (*life.ends > d.now)
        return {{.why = fmt::format("{} is supported until {:%F}", shown, *life.ends)}};
    auto why =
        fmt::format("{} reached its end of life on {:%F}; a distribution may still correct it", shown, *life.ends);
    if (d.strict)
        return {{.level = level::warning, .why = std::move(why), .fix = newer}};
    return {{.why = std::move(why), .is_remark = true}};
}

findings clients(node_facts const& f, demands const&)
{
    auto const limit = std::max(f.number("maxclients"), f.setting("maxclients").value_or(0));
    auto const used = f.number("connected_clients"), rejected = f.number("rejected_connections");
    if (limit == 0)
        return {{.level = level::unknown,
                 .why = "its limit of clients is not known",
                 .fix = f.place.admin_client() + " CONFIG GET maxclients"}};
    finding found{.values = {{"clients", used}, {"maxclients", limit}, {"rejected", rejected}}};
    found.level = used * 20 > limit * 19                 ? level::critical
                  : used * 5 > limit * 4 || rejected > 0 ? level::warning
                                                         : level::ok;
    found.why = fmt::format("{} of {} clients are connected", used, limit);
    if (rejected > 0)
        found.why += fmt::format(", and {} refused since its start",
                                 rejected == 1 ? "one was" : fmt::format("{} were", rejected));
    if (found.level != level::ok)
        found.fix = used * 5 > limit * 4 ? set_setting(f, fmt::format("maxclients {}", limit * 2))
                                         : f.place.admin_client() + " CONFIG RESETSTAT";
    return {std::move(found)};
}

// The library sends a command on each connection once a second.
findings timeout(node_facts const& f, demands const&)
{
    auto const seconds = f.setting("timeout").value_or(0);
    if (seconds == 0 || seconds >= 5)
        return {{.why = seconds == 0 ? "it closes no idle connections"
                                     : fmt::format("it closes connections that are idle for {} s; those of locks are "
                                                   "never idle so long",
                                                   seconds)}};
    return {{.level = level::warning,
             .why = fmt::format(
                 "it closes connections that are idle for {} s: those of locks may have to be opened again and again",
                 seconds),
             .fix = set_setting(f, "timeout 0")}};
}

findings slow_log(node_facts const& f, demands const& d)
{
    auto const known = f.setting("slowlog-log-slower-than");
    if (!known)
        return {{.level = level::unknown,
                 .why = "it is not known what its slow log records",
                 .fix = f.place.admin_client() + " CONFIG GET slowlog-log-slower-than"}};
    auto const threshold = *known;
    auto const limit = std::chrono::microseconds(d.node_timeout).count();
    if (threshold < 0 || threshold > limit)
        return {
            {.level = level::unknown,
             .why = fmt::format("its slow log does not record all commands that take longer than node_timeout ({})",
                                in_words(d.node_timeout)),
             .fix = set_setting(f, fmt::format("slowlog-log-slower-than {}", std::min<std::int64_t>(limit, 10'000)))}};
    auto const since = (f.last_time ? f.last_time->theirs : std::chrono::microseconds(d.now.time_since_epoch())) - 1h;
    std::int64_t count = 0, slowest = 0;
    std::string command;
    for (auto const& entry : f.slow_log.elements) {
        auto const& e = entry.elements;
        if (e.size() < 4 || std::chrono::seconds(e[1].number().value_or(0)) < since
            || e[2].number().value_or(0) <= limit)
            continue;
        ++count;
        if (*e[2].number() > slowest && !e[3].elements.empty()) {
            slowest = *e[2].number();
            command = printable(e[3].elements.front().text);  // without the arguments, which may be secret
        }
    }
    finding found{.why = fmt::format("no command has taken longer than node_timeout ({}) within the last hour",
                                     in_words(d.node_timeout)),
                  .values = {{"slow_commands", count}}};
    if (count > 0) {
        found.level = level::warning;
        found.why = fmt::format("{} within the last hour {} longer than node_timeout ({}), during which nobody votes; "
                                "the slowest, {}, {} ms",
                                counted(count, "command"), count == 1 ? "has taken" : "have taken",
                                in_words(d.node_timeout), command, slowest / 1000);
        found.fix = f.place.client() + " SLOWLOG GET 128  # avoid these commands, or raise node_timeout";
    }
    return {std::move(found)};
}

constexpr std::array all_of_service{
    check{"role", nullptr, "", "", role},
    check{"replicas", &node_facts::info, "info", "connected_slaves", replicas},
    check{"sentinel", &node_facts::sentinels, "pubsub|numsub", "", sentinel},
    check{"version", &node_facts::info, "info", "redis_version", version},
    check{"clients", &node_facts::info, "info", "connected_clients", clients},
    check{"timeout", &node_facts::settings, "config|get", "timeout", timeout},
    check{"slow-log", &node_facts::slow_log, "slowlog|get", "", slow_log},
};

}  // namespace

constinit std::span<check const> const service_checks{all_of_service};

}  // namespace redlock::cli::doctor
