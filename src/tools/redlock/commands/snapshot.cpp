#include "tools/redlock/commands/snapshot.hpp"

#include "tools/redlock/locks/looking.hpp"
#include "tools/redlock/args/output.hpp"
#include "tools/redlock/locks/with_locks.hpp"
#include "runtime/as_result.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace redlock::cli {

namespace {

using std::chrono::steady_clock;

std::optional<double> per_second(double count, steady_clock::duration passed)
{
    auto const seconds = std::chrono::duration<double>(passed).count();
    return seconds > 0 ? std::optional(count / seconds) : std::nullopt;
}

asio::awaitable<std::vector<command_count>> count_commands(servers& all)
{
    std::vector<command_count> counts(all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        counts[i].ours = all.commands(i);  // INFO does not count itself
    questions statistics;
    statistics.push_back({"INFO", "stats"});
    auto const told = co_await all.ask_all(std::move(statistics));
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const count = told[i].replies.front().field("total_commands_processed");
        counts[i].all = reply{reply::kind::text, count, {}}.number();
    }
    co_return counts;
}

// The first question connects, so the second one measures the round trip. It is PTTL because the access list of a user
// of locks does not permit PING.
asio::awaitable<std::vector<node_sample>> ask_nodes(servers& all, std::string prefix)
{
    questions ttl;
    ttl.push_back({"PTTL", std::move(prefix)});
    co_await all.ask_all(ttl);
    auto const timed = co_await all.ask_all(ttl);
    auto const counts = co_await count_commands(all);
    std::vector<node_sample> nodes;
    for (std::size_t i = 0; i < all.size(); ++i)
        nodes.push_back({.name = all.name(i), .round_trip = timed[i].took, .at_begin = counts[i]});
    co_return nodes;
}

std::size_t waiting_for(lock_view const& l) { return l.info.waiters.size(); }

void keep_first(std::vector<lock_view>& locks, std::size_t rows)
{
    std::ranges::sort(locks, {}, [](auto const& l) {
        return std::tuple(-static_cast<std::ptrdiff_t>(waiting_for(l)), std::string_view(l.info.resource));
    });
    if (locks.size() > rows)
        locks.resize(rows);
}

std::uint64_t hold_of(lock_view const& l) { return fingerprint_of(l.info.resource + '\0' + l.value); }

void count(snapshot& s, lock_view const& l)
{
    ++s.locks[static_cast<std::size_t>(l.state)];
    s.waiting += waiting_for(l);
    if (l.state < lock_state::held)
        return;
    s.holds.insert(hold_of(l));
    for (std::size_t i = 0; i < s.nodes.size(); ++i)
        s.nodes[i].votes += state_of(l.info.nodes[i]) == l.has && l.info.nodes[i].value == l.value;
}

void compare(snapshot& now, snapshot const& before, std::size_t still_there)
{
    auto const passed = now.taken - before.taken;
    now.new_per_second = per_second(static_cast<double>(now.holds.size() - still_there), passed);
    now.gone_per_second = per_second(static_cast<double>(before.holds.size() - still_there), passed);
    for (std::size_t i = 0; i < now.nodes.size(); ++i) {
        auto const &n = now.nodes[i].at_begin, &b = before.nodes[i].at_end;
        if (!n.all || !b.all || *n.all < *b.all)  // a server that has restarted counts from 0
            continue;
        auto const others = std::max<std::int64_t>(*n.all - *b.all - (n.ours - b.ours), 0);
        now.nodes[i].commands_per_second = per_second(static_cast<double>(others), now.taken - before.ended);
    }
}

std::string rate(std::optional<double> r) { return r ? fmt::format("{:.1f}/s", *r) : "-"; }

boost::json::value json_of_rate(std::optional<double> r)
{
    return r ? boost::json::value(*r) : boost::json::value(nullptr);
}

}  // namespace

// A manager sends commands of its own now and then. So each snapshot has another one, and commands of other clients are
// counted between two snapshots only.
asio::awaitable<snapshot> take_snapshot(servers& all, settings const& how, view_range what, snapshot const* before)
{
    snapshot s{.taken = steady_clock::now()};
    all.include_all();
    s.nodes = co_await ask_nodes(all, how.locks.prefix);
    auto locks = manager_of(co_await asio::this_coro::executor, how);
    std::size_t still_there = 0;
    auto const told = co_await list_all(locks, what.glob, "top", [&](std::vector<lock_view> some) {
        for (auto& l : some) {
            count(s, l);
            still_there += l.state >= lock_state::held && before && before->holds.contains(hold_of(l));
            s.first.push_back(std::move(l));
        }
        keep_first(s.first, what.rows);
        return true;
    });
    co_await locks.async_shutdown(runtime::as_result);
    auto const counts = co_await count_commands(all);
    s.ended = steady_clock::now();
    for (std::size_t i = 0; i < all.size(); ++i) {
        s.nodes[i].error = told[i].error;
        s.nodes[i].trouble = trouble_of(told[i]);
        s.nodes[i].at_end = counts[i];
    }
    if (before)
        compare(s, *before, still_there);
    co_return s;
}

boost::json::object json_of(snapshot const& s)
{
    boost::json::array nodes, first;
    for (auto const& n : s.nodes) {
        boost::json::object node{
            {"name", n.name}, {"up", n.trouble.empty()}, {"round_trip_us", n.round_trip.count()}, {"votes", n.votes}};
        if (!n.trouble.empty())
            node["error"] = valid_utf8(n.trouble);
        nodes.push_back(std::move(node));
    }
    for (auto const& l : s.first) {
        auto lock = json_of(l);
        lock["waiting"] = waiting_for(l);
        first.push_back(std::move(lock));
    }
    boost::json::object locks;
    for (auto const state :
         {lock_state::held, lock_state::shared, lock_state::foreign, lock_state::partial, lock_state::unknown})
        locks[to_string(state)] = s.in(state);
    return {{"nodes", std::move(nodes)},
            {"locks", std::move(locks)},
            {"waiting", s.waiting},
            {"new_per_second", json_of_rate(s.new_per_second)},
            {"gone_per_second", json_of_rate(s.gone_per_second)},
            {"first", std::move(first)}};
}

std::vector<screen_line> lines_of(snapshot const& s)
{
    table nodes({"NODE", "STATE", "ROUND TRIP", "VOTES", "COMMANDS"});
    for (auto const& n : s.nodes)
        nodes.add({printable(n.name), n.trouble.empty() ? "up" : "down: " + printable(n.trouble),
                   n.round_trip.count() > 0 ? fmt::format("{:.2f} ms", static_cast<double>(n.round_trip.count()) / 1000)
                                            : "-",
                   fmt::format("{}/{}", n.votes, s.with_majority()), rate(n.commands_per_second)});
    table locks({"KEY", "WAITING", "STATE", "NODES", "TTL", "HOLDER", "FOR"});  // these are last, because lines are cut
                                                                                // off
    for (auto const& l : s.first)
        locks.add({printable(l.info.resource), std::to_string(waiting_for(l)), std::string(to_string(l.state)),
                   fmt::format("{}/{}", l.votes, l.info.nodes.size()), ttl_of(l.has, l.ttl),
                   holder_of(l.has, l.about.owner), printable(l.about.note)});
    auto const more = std::size_t(s.with_majority() + s.in(lock_state::partial) + s.in(lock_state::unknown))
                      - s.first.size();

    std::vector<screen_line> lines;
    lines.push_back({fmt::format(
        "locks: {} held, {} shared, {} foreign, {} partial, {} unknown; {} waiting; {} new, {} gone",
        s.in(lock_state::held), s.in(lock_state::shared), s.in(lock_state::foreign), s.in(lock_state::partial),
        s.in(lock_state::unknown), s.waiting, rate(s.new_per_second), rate(s.gone_per_second))});
    for (auto const& t : {nodes.text(false), locks.text(false)}) {
        lines.push_back({""});
        bool header = true;
        for (std::string_view rest = t; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1))
            lines.push_back({std::string(rest.substr(0, rest.find('\n'))), std::exchange(header, false)});
    }
    if (more > 0)
        lines.push_back({fmt::format("and {} more", more)});
    return lines;
}

}  // namespace redlock::cli
