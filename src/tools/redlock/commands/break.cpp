// redlock break: takes a lock away from its holder.

#include "tools/redlock/args/command_line.hpp"
#include "tools/redlock/args/commands.hpp"
#include "tools/redlock/args/early_exit.hpp"
#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/locks/lock_report.hpp"
#include "tools/redlock/locks/looking.hpp"
#include "tools/redlock/args/output.hpp"
#include "tools/redlock/locks/with_source.hpp"

#include <boost/json/array.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace redlock::cli {

namespace {

constexpr std::size_t readers_max = 64;  // that an inspection lists
constexpr std::size_t turns_max = 1000;  // more readers may come all the time
constexpr std::size_t value_max = 512;   // bytes of a value that an inspection tells

struct order {
    std::string key{};
    std::string token{};
    bool force = false;
    bool yes = false;
};

// The table of `redlock status` escapes the control characters of a value, so a token may be given in that form.
bool is_named_by(std::string const& token, std::string const& value)
{
    return value == token || printable(value) == token;
}

// The part of @p seen that the order is about.
lock_info meant_by(order const& o, lock_info seen)
{
    if (o.token.empty())
        return seen;
    seen.locked = false;  // the holder with that token need not have a majority
    for (auto& n : seen.nodes)
        n.locked = n.locked && is_named_by(o.token, n.value);
    std::erase_if(seen.readers, [&](auto const& r) { return !is_named_by(o.token, r.value); });
    return seen;
}

bool is_on_a_node(lock_info const& seen, mode how)
{
    return std::ranges::any_of(seen.nodes, [&](auto const& n) { return n.locked && n.mode == how; });
}

/// The result on all nodes.
struct deletions {
    std::vector<node_break_info> nodes{};

    void add(std::vector<node_break_info> more)
    {
        if (more.size() < nodes.size())  // the call has asked no node
            return;
        for (std::size_t i = 0; i < nodes.size(); ++i)
            more[i].deleted = more[i].deleted || nodes[i].deleted;
        nodes = std::move(more);
    }

    std::size_t deleted() const
    {
        return static_cast<std::size_t>(std::ranges::count(nodes, true, &node_break_info::deleted));
    }

    /// Whether a majority has answered.
    bool is_known() const
    {
        return static_cast<std::size_t>(std::ranges::count(nodes, error_code(), &node_break_info::error))
               >= nodes.size() / 2 + 1;
    }
};

// Whether the command may delete: --token or --force --yes permits it, and with --force alone the operator decides.
// @throws early_exit without these options, or if there is no terminal to ask on
bool may_break(order const& o)
{
    if (!o.token.empty() || (o.force && o.yes))
        return true;
    if (!o.force)
        throw early_exit(wrong_usage, "redlock break: nothing was deleted. Name the holder that is to lose it with "
                                      "--token, or say --force --yes");
    if (!::isatty(STDIN_FILENO) || !::isatty(STDERR_FILENO))
        throw early_exit(wrong_usage,
                         "redlock break: nothing was deleted. There is no terminal to confirm it: say --force --yes");
    remark("\nThe holder continues until it notices. Break the lock? [y/N] ");
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "yes";
}

void tell(deletions const& d, lock_view const& seen, settings const& s)
{
    if (s.output == format::table) {
        print(fmt::format("{}: deleted on {} of {} nodes\n", printable(s.locks.prefix + seen.info.resource),
                          d.deleted(), d.nodes.size()));
    } else {
        auto document = json_of(seen);
        boost::json::array nodes;
        for (auto const& n : d.nodes) {
            boost::json::object node{{"name", n.name},
                                     {"result", n.deleted  ? "deleted"
                                                : !n.error ? "not_there"
                                                           : "unknown"}};
            if (n.error)
                node["error"] = valid_utf8(trouble_of(n));
            nodes.push_back(std::move(node));
        }
        document["deleted"] = d.deleted();
        document["nodes"] = std::move(nodes);
        print_json(document);
    }
    if (s.quiet)
        return;
    for (auto const& n : d.nodes) {
        if (n.error)
            remark(fmt::format("redlock break: {}: {}\n", printable(n.name), printable(trouble_of(n))));
    }
    if (d.deleted() > 0)
        remark(
            "redlock break: the old holder continues until it notices: at its next renewal, about a third of its ttl "
            "from now; without renewal, never.\n"
            "Until then two clients may work at the same time. Only a resource that refuses old fencing tokens is "
            "safe from the old holder.\n");
    else if (d.is_known())
        remark("redlock break: the lock has expired or was released, or another client holds it now\n");
}

int status_of_deletions(deletions const& d)
{
    if (!d.is_known())
        return std::ranges::any_of(d.nodes, [](auto const& n) { return is_refused(n.error); }) ? no_permission
                                                                                               : no_quorum;
    return d.deleted() > 0 ? done : no;
}

// @throws early_exit if the order deletes nothing of what was seen
void check(order const& o, lock_view const& seen)
{
    auto const& info = seen.info;
    auto const refuse = [](exit_status status, std::string_view why) {
        throw early_exit(status, fmt::format("redlock break: nothing was deleted{}", why));
    };
    if (std::ranges::none_of(info.nodes, &node_lock_info::locked))
        refuse(no,
               ", because the key is not a string, so it is not a lock. If you know what it is, delete it with DEL");
    if (std::ranges::any_of(info.nodes, [](auto const& n) { return n.value.size() >= value_max; }))
        refuse(no, ", because the value is too long for a lock of this library. If you know what it is, delete it with "
                   "DEL");
    if (o.token.empty() && is_on_a_node(info, mode::shared) && !info.knows_readers)
        refuse(no_permission,
               ", because no node lists the readers. An access list must allow it: \"redlock acl --shared\"");
    if (!may_break(o))
        refuse(no, "");
    auto const meant = meant_by(o, info);
    if (!o.token.empty() && meant.readers.empty() && !is_on_a_node(meant, mode::exclusive))
        refuse(no, ", because no holder with this token was found");
}

// A deletion waits for a connection, and so does not tell that the server refuses this client. A look tells it.
asio::awaitable<void> explain(lock_source& locks, std::string const& key, deletions& all)
{
    auto const is_away = [](auto const& n) { return n.error == errc::node_unreachable; };
    if (std::ranges::none_of(all.nodes, is_away))
        co_return;
    auto const now = co_await locks.look_at(key);
    auto const told = std::min(all.nodes.size(), now.info.nodes.size());  // a service may forget some
    for (std::size_t i = 0; i < told; ++i) {
        auto const& n = now.info.nodes[i];
        if (is_away(all.nodes[i]) && n.error) {
            all.nodes[i].error = n.error;
            all.nodes[i].message = n.message;
        }
    }
}

asio::awaitable<int> delete_seen(lock_source& locks, order const& o, lock_view const& seen, settings const& s)
{
    auto latest = seen;
    auto meant = meant_by(o, seen.info);
    deletions all;
    for (std::size_t turn = 0; turn < turns_max; ++turn) {
        bool const may_be_more = o.token.empty() && meant.readers.size() >= readers_max;
        auto told = co_await locks.take_away(latest, meant);
        bool const goes_on = may_be_more && !told.error;
        all.add(std::move(told.nodes));
        if (!goes_on)
            break;
        if (!s.quiet)
            remark(fmt::format("redlock break: {} readers are deleted; there may be more\n", (turn + 1) * readers_max));
        latest = co_await locks.look_at(seen.info.resource);
        meant.readers = latest.info.readers;
        if (meant.readers.empty())
            break;
    }
    co_await explain(locks, seen.info.resource, all);
    tell(all, seen, s);
    co_return status_of_deletions(all);
}

}  // namespace

int break_lock(arguments given)
{
    command_line line(
        "break",
        "Take a lock away from its holder. The holder is shown first. Only the value that was shown is deleted, or the "
        "token that is given: a client that has acquired the lock meanwhile keeps it.",
        "The old holder continues until its next renewal, about a third of its ttl later; without renewal it never "
        "notices. Until "
        "then two clients may work at the same time, and only a resource that refuses old fencing tokens is safe.\n"
        "Status: 0 a majority of the nodes no longer has the lock; 1 the lock was free; 64 neither --token nor "
        "--force; 69 too few "
        "nodes answered; 77 too few, because they refuse.");
    order o;
    line.add_key(o.key);
    line.add_text("--token", "TOKEN", o.token,
                  "delete only the value with this token: of the holder, or of one reader");
    line.add_flag("--force", o.force, "delete the value that is there, or all readers; asks on a terminal");
    line.add_flag("--yes,-y", o.yes, "do not ask");
    line.may_use_services();
    auto s = for_looking(line.read(std::move(given)));
    if (!o.token.empty())
        must_have_nodes(line, s, "--token");
    lock_view seen;
    with_source(s, "break", [&](lock_source& locks) -> asio::awaitable<int> {
        seen = co_await locks.look_at(o.key);
        co_return done;
    });
    if (!s.quiet)
        remark(text_of(seen, s, false));
    if (!seen.is_there())
        return seen.state == lock_state::free ? no : is_refused(seen.info) ? no_permission : no_quorum;
    check(o, seen);
    s.locks.read_only = false;  // another manager, because the operator may have thought about it for long
    return with_source(s, "break", [&](lock_source& locks) { return delete_seen(locks, o, seen, s); });
}

}  // namespace redlock::cli
