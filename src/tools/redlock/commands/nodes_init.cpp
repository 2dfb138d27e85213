// redlock nodes init: founds a set of new nodes.

#include "tools/redlock/commands/nodes_init.hpp"

#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/locks/lasting_cause.hpp"
#include "tools/redlock/locks/looking.hpp"
#include "tools/redlock/args/output.hpp"
#include "tools/redlock/locks/with_locks.hpp"
#include "runtime/as_result.hpp"

#include <redlock/lock_manager.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/json/array.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::cli {

namespace {

using namespace std::chrono_literals;

bool all_vote(stats const& s)
{
    return std::ranges::all_of(s.nodes, [](auto const& n) { return n.connected && n.quarantine.count() == 0; });
}

bool all_are_connected(stats const& s)
{
    return std::ranges::all_of(s.nodes, [](auto const& n) { return n.connected; });
}

/// The lines of the command on standard output and standard error.
class founding_report {
public:
    explicit founding_report(settings const& s) : settings_(s) {}

    void add(std::string name, bool votes, std::string words)
    {
        nodes_.push_back({std::move(name), votes, std::move(words)});
    }

    /// @param founded whether this call has founded the nodes
    void tell_success(bool founded) const
    {
        if (settings_.output != format::table)
            return print_document(founded);
        bool const is_one = nodes_.size() == 1;
        auto const what = founded ? is_one ? "is founded, and votes from now on," : "are founded, and vote from now on,"
                          : is_one ? "votes already"
                                   : "vote already";
        print(fmt::format("{} node{} {} for the prefix {}\n", nodes_.size(), is_one ? "" : "s", what, prefix()));
    }

    /// @param why the reason and the way out
    void tell_refusal(std::string_view why) const
    {
        if (settings_.output != format::table)
            print_document(false);
        if (settings_.quiet)
            return;
        for (auto const& n : nodes_)
            remark(fmt::format("redlock nodes: {}: {}\n", printable(n.name), printable(n.words)));
        remark(fmt::format("redlock nodes: nothing was founded. {}\n", why));
    }

    std::string prefix() const { return printable(settings_.locks.prefix); }

private:
    struct node {
        std::string name;
        bool votes;
        std::string words;
    };

    void print_document(bool founded) const
    {
        boost::json::array nodes;
        for (auto const& n : nodes_)
            nodes.push_back(
                boost::json::object{{"name", n.name}, {"votes", n.votes}, {"message", valid_utf8(n.words)}});
        print_json({{"prefix", valid_utf8(settings_.locks.prefix)},
                    {"founded", founded},
                    {"votes", std::ranges::all_of(nodes_, [](auto const& n) { return n.votes; })},
                    {"nodes", std::move(nodes)}});
    }

    settings const& settings_;
    std::vector<node> nodes_;
};

std::string cause_in_words(node_report const& n)
{
    if (!n.error || (n.error == errc::quarantined && !n.message.empty()))
        return n.message;
    return n.message.empty() ? n.error.message() : fmt::format("{}: {}", n.error.message(), n.message);
}

// Unlike a lock, founding needs every node. So the cause at one node decides.
int status_of_missing(std::vector<node_report> const& nodes)
{
    int status = no_quorum;
    for (auto const& n : nodes) {
        auto const cause = n.error ? lasting_cause_of(n) : std::nullopt;
        if (cause && (cause->status == no_permission || status != no_permission))
            status = std::max<int>(cause->status, no_quorum);
    }
    return status;
}

// A lock with the prefix, and a node that has it. Its name is empty if there is none.
struct found_lock {
    std::string node{}, name{};
};

found_lock first_lock_in(std::vector<lock_view> const& some)
{
    for (auto const& l : some) {
        auto const has = std::ranges::find_if(l.info.nodes, [](auto const& n) { return n.locked || n.error; });
        if (has != l.info.nodes.end())
            return {has->name, l.info.resource};
    }
    return {};
}

/// The result of a look for locks on all nodes.
struct look_for_locks {
    found_lock found{};
    std::vector<node_list_info> nodes{};
};

asio::awaitable<look_for_locks> look(lock_manager& locks)
{
    look_for_locks l;
    l.nodes = co_await list_all(locks, "*", "nodes", [&](auto const& some) {
        l.found = first_lock_in(some);
        return l.found.name.empty();
    });
    co_return l;
}

int refuse_because_of(look_for_locks const& l, founding_report& out)
{
    if (!l.found.name.empty()) {
        out.add(l.found.node, false, fmt::format("it has the lock {}{}", out.prefix(), printable(l.found.name)));
        out.tell_refusal(
            "A client has used the prefix there, so the set is not new. The nodes vote by themselves after "
            "--max-ttl: wait, or choose another --prefix");
        return no;
    }
    bool is_refused_somewhere = false;
    for (auto const& n : l.nodes) {
        if (n.complete || n.error == errc::unsupported)
            continue;
        is_refused_somewhere = is_refused_somewhere || is_refused(n.error);
        out.add(n.name, false, "it has not told whether it has locks: " + trouble_of(n));
    }
    out.tell_refusal("All nodes must tell whether they have locks. Repair the nodes, and run this again");
    return is_refused_somewhere ? no_permission : no_quorum;
}

bool has_obstacle(look_for_locks const& l)
{
    return !l.found.name.empty()
           || std::ranges::any_of(l.nodes, [](auto const& n) { return !n.complete && n.error != errc::unsupported; });
}

asio::awaitable<int> found(lock_manager& locks, settings const& s)
{
    founding_report out(s);
    co_await locks.async_inspect("=init", runtime::as_result);  // makes the manager connect to every node
    auto const now = locks.stats();
    if (!all_vote(now) && all_are_connected(now)) {
        auto const seen = co_await look(locks);
        if (has_obstacle(seen) && !all_vote(locks.stats()))  // another call may have founded the set meanwhile
            co_return refuse_because_of(seen, out);
    }
    auto const [ec, report] = co_await locks.async_found(runtime::as_result);
    for (auto const& n : report.nodes)
        out.add(n.name, n.vote == vote::granted, cause_in_words(n));
    if (!ec) {
        out.tell_success(report.rounds > 0);
        co_return done;
    }
    if (ec == errc::quarantined) {
        out.tell_refusal(
            fmt::format("The set is not new, so locks may be forgotten. The nodes that do not vote yet vote "
                        "by themselves within --max-ttl, {}: wait",
                        in_words(s.locks.max_ttl)));
        co_return no;
    }
    if (ec == errc::no_quorum) {
        out.tell_refusal(
            fmt::format("All nodes must answer{}. Start or repair them, and run this again", ways_out(report.nodes)));
        co_return status_of_missing(report.nodes);
    }
    out.tell_refusal(ec.message());
    co_return status_of(ec);
}

}  // namespace

int init_nodes(settings s)
{
    auto& c = s.locks;
    c.restart_guard = restart_guard::strict;  // with another guard, the servers need no record
    c.node_timeout = std::max(c.node_timeout, std::min(1000ms, c.max_ttl - 1ms));
    return with_locks(s, [&](lock_manager& locks) { return found(locks, s); });
}

}  // namespace redlock::cli
