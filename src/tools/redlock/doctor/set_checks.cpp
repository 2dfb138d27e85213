// Checks of all nodes together.

#include "tools/redlock/doctor/checks.hpp"

#include "tools/redlock/locks/lock_view.hpp"
#include "tools/redlock/args/output.hpp"
#include "core/quarantine.hpp"
#include "core/quorum.hpp"
#include "stores/redis/shared_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

namespace redlock::cli::doctor {

namespace {

using nodes = set_facts;
using sys_ms = std::chrono::sys_time<std::chrono::milliseconds>;

// A placeholder: the reader replaces HOST.
constexpr char another_node[] = "redis://HOST";

findings number_of_nodes(nodes const& all, demands const& d)
{
    auto const n = all.size();
    finding found{.values = {{"nodes", n}}};
    if (n == 1) {
        found.level = level::warning;
        found.why = "with one node a lock is as good as that server's memory, and nobody gets a lock while it is down";
        found.fix = d.call.with_another_node(another_node).with_another_node(another_node).line()
                    + "  # three servers that do not fail together";
    } else if (n % 2 == 0) {
        found.level = level::warning;
        found.why = fmt::format("{} nodes survive the failure of {}, as {} do: the last one gives nothing", n,
                                (n - 1) / 2, n - 1);
        found.fix = d.call.with_another_node(another_node).line() + "  # one more";
    } else {
        found.why = fmt::format("of {} nodes {} may fail", n, (n - 1) / 2);
    }
    return {std::move(found)};
}

// Groups nodes by the names that @p name returns. A node with an empty name belongs to no group.
template <class Name>
std::map<std::string, std::vector<std::string>> grouped(nodes const& all, Name name)
{
    std::map<std::string, std::vector<std::string>> groups;
    for (auto const& f : all) {
        for (auto const& n : name(f)) {
            auto& group = groups[n];
            if (std::ranges::find(group, f.name) == group.end())
                group.push_back(f.name);
        }
    }
    std::erase_if(groups, [](auto const& g) { return g.second.size() < 2 || g.first.empty(); });
    return groups;
}

// Applies @p change to the call once for each node but the first, which stays.
template <class Change>
call for_all_but_first(call c, std::vector<std::string> const& names, Change change)
{
    for (auto const& name : names) {
        if (name != names.front())
            c = change(c, name);
    }
    return c;
}

// The line that asks for the run_id of a server that has not answered with it.
std::string ask_for_run_id(nodes const& all)
{
    auto const& f =
        *std::ranges::find_if(all, [](auto const& n) { return n.is_server && n.info.field("run_id").empty(); });
    return is_forbidden(f.info) ? allow(f, "+info") : f.place.client() + " INFO server  # run_id";
}

findings same_server(nodes const& all, demands const& d)
{
    findings found;
    for (auto const& f : all) {
        if (f.run_ids.size() > 1)
            found.push_back(
                {.level = level::critical,
                 .why = fmt::format("{} leads to {} servers, so several clients would get one lock", f.name,
                                    f.run_ids.size()),
                 .fix = d.call.without_node(f.name).line() + "  # and each of these servers by an address of its own"});
    }
    for (auto const& [id, names] : grouped(all, [](auto const& f) { return std::vector{f.info.field("run_id")}; }))
        found.push_back({.level = level::critical,
                         .why = fmt::format("{} are one server, which has one vote: the library refuses the others",
                                            fmt::join(names, " and ")),
                         .fix = for_all_but_first(d.call, names,
                                                  [](auto const& c, auto const& name) { return c.without_node(name); })
                                    .line()
                                + "  # and other servers"});
    bool const are_known =
        std::ranges::all_of(all, [](auto const& f) { return !f.is_server || !f.info.field("run_id").empty(); });
    if (found.empty() && !are_known && all.size() > 1)
        found.push_back({.level = level::unknown,
                         .why = "two addresses may lead to one server: not all servers have answered INFO",
                         .fix = ask_for_run_id(all)});
    else if (found.empty())
        found.push_back({.why = "all addresses lead to different servers"});
    return found;
}

findings same_host(nodes const& all, demands const& d)
{
    findings found;
    std::vector<std::vector<std::string>> told;
    for (auto const& [address, names] : grouped(all, [](auto const& f) { return f.addresses; })) {
        if (std::ranges::find(told, names) != told.end())
            continue;
        told.push_back(names);
        found.push_back(
            {.level = level::warning,
             .why = fmt::format("{} are on one host ({}) and fail together", fmt::join(names, " and "), address),
             .fix = for_all_but_first(d.call, names,
                                      [](auto const& c, auto const& name) { return c.with_node(name, another_node); })
                        .line()
                    + "  # a host for each"});
    }
    if (found.empty())
        found.push_back({.why = "by their addresses, each has a host of its own"});
    return found;
}

std::string ask_for_settings(nodes const& all, demands const& d)
{
    auto const f = std::ranges::find_if(all, [](auto const& n) { return is_forbidden(n.clients); });
    return f == all.end() ? d.call.line() : allow(*f, "+get");
}

// The library writes the settings of each client to the servers, one client in a line.
findings same_settings(nodes const& all, demands const& d)
{
    std::vector<std::string> lines;
    bool are_known = false;
    for (auto const& f : all) {
        std::istringstream text(f.clients.text);
        are_known = are_known || (f.is_server && !f.clients.failed());
        for (std::string age, line; text >> age && std::getline(text >> std::ws, line);) {
            if (std::ranges::find(lines, line) == lines.end())
                lines.push_back(std::move(line));
        }
    }
    findings found;
    for (auto const& [name, values] : stores::redis::values_of(lines)) {
        // The default is strict in this tool, and automatic in programs. A mix of both is as safe as automatic. Clients
        // that draw no tokens exclude those that do.
        bool const is_usual = name == "fencing"
                              || (name == "restart_guard" && std::ranges::find(values, "off") == values.end());
        if (values.size() > 1)
            found.push_back(
                {.level = is_usual ? level::ok : level::warning,
                 .why = fmt::format("clients within the last hour had different settings: {} was {}", name,
                                    fmt::join(values, " and ")),
                 .fix = d.call.line() + "  # an hour after all clients have one value: docs/guarantees.md"});
    }
    if (std::ranges::none_of(all, [](auto const& f) { return f.is_server; }))
        return {};  // other stores have no settings of clients
    if (found.empty() && !are_known)
        found.push_back({.level = level::unknown,
                         .why = "the settings of the clients could not be read",
                         .fix = ask_for_settings(all, d)});
    else if (found.empty())
        found.push_back({.why = lines.empty() ? "no client has left its settings within the last hour"
                                              : "all clients within the last hour had the same settings"});
    return found;
}

// Clients that use another database of a server share no locks with those of this call.
findings same_database(nodes const& all, demands const& d)
{
    findings found;
    for (auto const& f : all) {
        if (!f.other_databases.empty())
            found.push_back(
                {.level = level::warning,
                 .why = fmt::format("clients within the last hour have locked with this prefix in the "
                                    "database {} of {}, too, where nobody sees the locks of the database {}",
                                    fmt::join(f.other_databases, " and "), f.name, f.place.database),
                 .fix = d.call.line()
                        + "  # an hour after all clients name one database; --skip same-database if they are other "
                          "clients"});
    }
    if (found.empty() && std::ranges::any_of(all, [](auto const& f) { return f.is_server; }))
        found.push_back({.why = "clients with this prefix use one database of each server"});
    return found;
}

findings votes(nodes const& all, demands const& d)
{
    auto const majority = core::majority(all.size());
    auto const voting = static_cast<std::size_t>(std::ranges::count_if(all, &node_facts::votes));
    finding found{.values = {{"votes", voting}, {"majority", majority}}};
    found.level = voting < majority ? level::critical : voting < all.size() ? level::warning : level::ok;
    found.why = fmt::format("{} of {} nodes vote for a lock, and {} are needed", voting, all.size(), majority);
    for (auto const& f : all) {
        if (!f.vote.is_connected && !f.vote.message.empty())
            found.why += fmt::format("; {}: {}", f.name, printable(f.vote.message));
    }
    if (voting < majority)
        found.fix = d.call.line() + "  # when the other findings are fixed";
    else if (voting < all.size())
        found.fix =
            fmt::format("{}  # when the other findings are fixed; {} more may fail", d.call.line(), voting - majority);
    return {std::move(found)};
}

bool is_durable(node_facts const& f)
{
    return f.is_server && !f.info.field("run_id").empty() && !f.settings.failed() && durability_of(f).is_durable();
}

// The quarantines of all nodes.
struct quarantines {
    std::size_t count = 0;             ///< nodes that do not vote yet
    std::chrono::seconds majority{0};  ///< the time until a majority votes
};

quarantines count_quarantines(std::vector<std::chrono::seconds> each)
{
    std::ranges::sort(each);
    auto const count = std::ranges::count_if(each, [](auto t) { return t.count() > 0; });
    return {static_cast<std::size_t>(count), each[core::majority(each.size()) - 1]};
}

// The quarantines that the library reports.
quarantines quarantines_of(nodes const& all)
{
    std::vector<std::chrono::seconds> each;
    for (auto const& f : all)
        each.push_back(std::chrono::ceil<std::chrono::seconds>(f.vote.quarantine));
    return count_quarantines(std::move(each));
}

bool is_new(node_facts const& f) { return f.vote.quarantine.count() > 0 && f.vote.reason == quarantine_reason::fresh; }

// Why the nodes are in quarantine: each reason with its nodes, unless all nodes have the same.
std::string cause_of_quarantine(nodes const& all)
{
    std::map<quarantine_reason, std::vector<std::string>> reasons;
    for (auto const& f : all) {
        if (f.vote.quarantine.count() > 0)
            reasons[f.vote.reason].push_back(f.name);
    }
    bool const have_one = reasons.size() == 1 && reasons.begin()->second.size() == all.size();
    std::string text;
    for (auto const& [reason, names] : reasons)
        text += fmt::format("{}{}{}{}", text.empty() ? "" : "; ",
                            have_one ? "" : fmt::format("{}", fmt::join(names, ", ")), have_one ? "" : ": ",
                            core::in_words(reason));
    return text;
}

// The line that ends the quarantine of all nodes.
std::string end_quarantine(nodes const& all, quarantines const& now, demands const& d)
{
    if (std::ranges::all_of(all, is_new))
        return d.call.line_of("nodes", {"init"}) + "  # if all servers are newly installed";
    bool const is_strict = d.restart_guard == restart_guard::strict;
    return fmt::format("sleep {} && {}{}", now.majority.count(), d.call.line(),
                       is_strict ? "" : "  # and give the nodes a durable log");
}

findings guard(nodes const& all, demands const& d)
{
    auto const now = quarantines_of(all);
    auto const durable = std::ranges::count_if(all, is_durable);
    bool const is_strict = d.restart_guard == restart_guard::strict;
    finding found{.values = {{"waiting", now.count},
                             {"waiting_ms", std::chrono::milliseconds(now.majority).count()},
                             {"durable", durable}}};
    if (now.majority.count() > 0) {
        found.level = level::critical;
        found.why = fmt::format("{} of {} nodes do not vote yet: {}; no lock for {} s (--restart-guard {})", now.count,
                                all.size(), cause_of_quarantine(all), now.majority.count(),
                                is_strict ? "strict" : "automatic");
        found.fix = end_quarantine(all, now, d);
    } else if (now.count > 0) {
        found.level = level::warning;
        found.why = fmt::format("{} of {} nodes do not vote yet: {}; the others are enough", now.count, all.size(),
                                cause_of_quarantine(all));
        found.fix = d.call.with("--watch", "10s").line() + "  # Ctrl-C ends it";
    } else if (std::ranges::any_of(all, [](auto const& f) { return f.vote.is_to_be_founded; })) {
        found.why = "the nodes are new to this prefix, and the first lock founds them (--restart-guard automatic)";
    } else {
        found.why = fmt::format("no node is in quarantine; {} of {} vote at once after a restart, the others after {} "
                                "(max_ttl)",
                                durable, all.size(), in_words(d.max_ttl));
    }
    return {std::move(found)};
}

// The cycle that is named first, and how many there are.
std::string text_of_deadlocks(std::vector<std::vector<process_wait>> const& cycles)
{
    auto text = "processes wait for each other: " + text_of(cycles.front());
    return cycles.size() == 1 ? text : text + fmt::format("; there are {} such cycles", cycles.size());
}

findings deadlock(nodes const& all, demands const& d)
{
    auto const& graph = all.waits.graph;
    auto const cycles = graph.cycles();
    finding found{.values = {{"waits", graph.waits().size()}, {"cycles", cycles.size()}}};
    if (!cycles.empty()) {
        auto const& w = cycles.front().front();
        found.level = level::warning;
        found.why = text_of_deadlocks(cycles);
        found.fix = d.call.line_of("break", {w.resource, "--force"})
                    + "  # or stop one of the processes; then let each acquire all its locks at once";
    } else if (!all.waits.is_all) {
        found.level = level::unknown;
        auto const missing = std::ranges::find(all.waits.nodes, false, &node_list_info::complete);
        found.why = "not all locks were read, so some processes may wait in a cycle: "
                    + (missing == all.waits.nodes.end()
                           ? std::string("there are more locks than --keys")
                           : printable(missing->name) + ": " + printable(trouble_of(*missing)));
        found.fix = d.call.line_of("list", {"--waits"});
    } else {
        found.why = graph.waits().empty() ? "no process waits for another one"
                                          : fmt::format("no processes wait for each other in a cycle; there {} {} "
                                                        "wait{} in all",
                                                        graph.waits().size() == 1 ? "is" : "are", graph.waits().size(),
                                                        graph.waits().size() == 1 ? "" : "s");
    }
    return {std::move(found)};
}

constexpr std::array checks{
    check_of_all{"nodes", number_of_nodes},
    check_of_all{"same-server", same_server},
    check_of_all{"same-host", same_host},
    check_of_all{"same-settings", same_settings},
    check_of_all{"same-database", same_database},
    check_of_all{"restart-guard", guard},
    check_of_all{"votes", votes},
    check_of_all{"deadlock", deadlock},
};

}  // namespace

constinit std::span<check_of_all const> const checks_of_all{checks};

}  // namespace redlock::cli::doctor
