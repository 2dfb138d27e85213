// redlock nodes move: moves fencing token counters when the set of nodes changes.

#include "tools/redlock/commands/nodes_move.hpp"

#include "tools/redlock/commands/counter_move.hpp"
#include "tools/redlock/args/early_exit.hpp"
#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/locks/lasting_cause.hpp"
#include "tools/redlock/args/output.hpp"
#include "tools/redlock/args/server_place.hpp"
#include "tools/redlock/server/servers.hpp"

#include <boost/json/array.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace redlock::cli {

namespace {

constexpr std::size_t progress_every = 50'000;

/// The nodes of both sets, each once.
struct move_sets {
    std::vector<std::string> urls{};
    std::vector<moving_node> nodes{};
    std::vector<std::string> goes{}, comes{};  ///< the names of nodes that are only in the old set, or in the new one
};

std::string place_in_words(std::string const& url)
{
    return is_server(url) ? fmt::format("{}/{}", name_of(url), place_of(url).database) : url;
}

// The places of the nodes of a set. @throws early_exit if the set has a node twice
std::vector<std::string> places_of(std::vector<std::string> const& urls, std::string_view option)
{
    std::vector<std::string> places;
    for (auto const& url : urls) {
        auto const place = place_in_words(url);
        if (std::ranges::find(places, place) != places.end())
            throw early_exit(wrong_configuration, fmt::format("redlock nodes: {} names {} twice: name each node once",
                                                              option, name_of(url)));
        places.push_back(place);
    }
    return places;
}

move_sets join(move_order const& o)
{
    auto const from = places_of(o.from, "--from"), to = places_of(o.to, "--to");
    move_sets all{.urls = o.from, .nodes = std::vector<moving_node>(o.from.size())};
    for (auto& n : all.nodes)
        n.is_old = true;
    for (std::size_t i = 0; i < to.size(); ++i) {
        auto const known = static_cast<std::size_t>(std::ranges::find(from, to[i]) - from.begin());
        if (known == from.size()) {
            all.urls.push_back(o.to[i]);
            all.nodes.emplace_back();
            all.comes.push_back(name_of(o.to[i]));
        }
        (known == from.size() ? all.nodes.back() : all.nodes[known]).is_new = true;
    }
    for (std::size_t i = 0; i < all.nodes.size(); ++i) {
        if (!all.nodes[i].is_new)
            all.goes.push_back(name_of(all.urls[i]));
    }
    return all;
}

// @throws early_exit if the change is not safe while clients run
void check_difference(move_sets const& sets, move_order const& o)
{
    auto const difference = sets.goes.size() + sets.comes.size();
    if (o.stopped || difference <= 1)
        return;
    auto const in_words = [](auto const& names, std::string_view do_what) {
        return names.empty() ? std::string() : fmt::format(" {}: {}.", do_what, fmt::join(names, ", "));
    };
    throw early_exit(
        wrong_usage,
        fmt::format(
            "redlock nodes: nothing was raised. The sets differ by {} nodes.{}{} While clients run, majorities of such "
            "sets may not share a node.\nChange one node at a time, or stop all clients and say --stopped",
            difference, in_words(sets.goes, "Taken away"), in_words(sets.comes, "Added")));
}

std::string_view set_of(moving_node const& n) { return n.is_old && n.is_new ? "both" : n.is_old ? "old" : "new"; }

bool is_as_high(counter_move const& m)
{
    return std::ranges::all_of(m.nodes(), [](auto const& n) { return n.raised == 0; });
}

void print_document(counter_move const& m, servers const& all, move_order const& o)
{
    boost::json::array nodes;
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const& n = m.nodes()[i];
        boost::json::object node{{"name", all.name(i)}, {"set", set_of(n)}, {o.dry_run ? "lower" : "raised", n.raised}};
        if (!n.trouble.empty())
            node["error"] = valid_utf8(n.trouble);
        nodes.push_back(std::move(node));
    }
    print_json({{"counters", m.counters()},
                {"dry_run", o.dry_run},
                {"complete", !m.has_failed()},
                {"nodes", std::move(nodes)}});
}

void print_table(counter_move const& m, servers const& all, move_order const& o, settings const& s)
{
    table t({"NODE", "SET", o.dry_run ? "LOWER" : "RAISED"});
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const& n = m.nodes()[i];
        t.add({printable(all.name(i)), std::string(set_of(n)), n.is_new ? std::to_string(n.raised) : "-"});
    }
    print(t.text(s.has_color(STDOUT_FILENO)));
    if (m.has_failed())
        return;
    auto const what = fmt::format("{} counters of {} are", m.counters(),
                                  s.locks.prefix.empty() ? "all locks" : printable(s.locks.prefix));
    if (!o.dry_run || is_as_high(m))
        print(fmt::format("{} as high on every node of the new set as on the old set\n", what));
    else
        print(fmt::format("{} on the old set; some are lower on a node of the new set\n", what));
}

void tell_of_trouble(counter_move const& m, servers const& all)
{
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!m.nodes()[i].trouble.empty())
            remark(fmt::format("redlock nodes: {}: {}\n", printable(all.name(i)), printable(m.nodes()[i].trouble)));
    }
    if (!m.has_failed())
        remark("redlock nodes: a majority of the old set has answered, which is enough\n");
    else if (std::ranges::any_of(m.nodes(), [](auto const& n) { return n.is_new && !n.trouble.empty(); }))
        remark("redlock nodes: not done. Every node of the new set must answer: repair it, or leave it out of the "
               "set, and run this again\n");
    else
        remark("redlock nodes: not done. A majority of the old set must answer: repair its nodes, and run this "
               "again\n");
}

void advise(counter_move const& m, move_order const& o)
{
    if (!m.foreign().empty())
        remark(fmt::format(
            "redlock nodes: counters of other prefixes are there, such as {}: run this for them, too, with --prefix\n",
            printable(m.foreign())));
    if (o.dry_run)
        return;
    remark(o.stopped ? "redlock nodes: no server knows whether all clients are stopped. If one was not, stop it and "
                       "run this again\n"
                     : "redlock nodes: no server knows whether a client still names the old set. If one does, run this "
                       "again when the last has left\n");
}

int status_of_move(counter_move const& m, move_order const& o)
{
    if (m.has_failed())
        return std::ranges::any_of(m.nodes(), [](auto const& n) { return n.is_refused; }) ? no_permission : no_quorum;
    return o.dry_run && !is_as_high(m) ? no : done;
}

asio::awaitable<int> move_counters(servers& all, std::vector<moving_node> nodes, move_order const& o, settings const& s)
{
    counter_move m(all, std::move(nodes), s.locks.prefix, o.dry_run);
    co_await m.greet();
    std::size_t told = 0;
    while (!m.has_failed() && co_await m.next()) {
        if (m.counters() < told + progress_every)
            continue;
        told = m.counters();
        if (!s.quiet)
            remark(fmt::format("redlock nodes: {} counters so far\n", told));
    }
    if (m.counters() == 0 && !m.has_failed() && !m.foreign().empty())
        throw early_exit(wrong_configuration,
                         fmt::format("redlock nodes: nothing was raised. No counter begins with \"{}\", but "
                                     "there is {}: name its prefix with --prefix",
                                     printable(s.locks.prefix), printable(m.foreign())));
    if (s.output == format::table)
        print_table(m, all, o, s);
    else
        print_document(m, all, o);
    if (!s.quiet && std::ranges::any_of(m.nodes(), [](auto const& n) { return !n.trouble.empty(); }))
        tell_of_trouble(m, all);
    if (!s.quiet && !m.has_failed())
        advise(m, o);
    co_return status_of_move(m, o);
}

}  // namespace

int move_nodes(settings s, move_order const& o)
{
    auto const sets = join(o);
    s.locks.nodes = sets.urls;
    // A node that does not answer in time fails the move, so the timeout is longer.
    s.locks.node_timeout = std::max(s.locks.node_timeout, std::chrono::milliseconds(5000));
    return with_servers(s, "nodes", [&](servers& all) {
        check_difference(sets, o);
        return move_counters(all, sets.nodes, o, s);
    });
}

}  // namespace redlock::cli
