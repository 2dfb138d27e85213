// redlock break: takes a lock away from its holder.

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/early_exit.hpp"
#include "cli/exit_status.hpp"
#include "cli/lasting_cause.hpp"
#include "cli/lock_question.hpp"
#include "cli/lock_report.hpp"
#include "cli/output.hpp"
#include "core/fencing.hpp"
#include "core/key.hpp"
#include "stores/redis/scripts.hpp"

#include <boost/json/array.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <span>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace redlock::cli {

namespace {

struct order {
    std::string key{};
    std::string token{};
    bool force = false;
    bool yes = false;
};

// The answer of PTTL for a missing key. The access list of a client permits PTTL, but not EXISTS.
constexpr std::int64_t no_key = -2;

/// The result on one node.
struct deletion {
    std::string name{};
    bool answered = false;
    bool deleted = false;
    std::string error{};
};

// The values that the operator has seen. Only they are deleted, because another client may hold the lock by now.
std::vector<std::string> seen_in(lock_answer const& seen)
{
    std::vector<std::string> tokens;
    for (auto const& n : seen.lock.nodes) {
        bool const is_meant = seen.lock.state == lock_state::partial || seen.lock.state == lock_state::unknown
                              || n.value == seen.lock.value;
        if ((n.state == lock_state::held || n.state == lock_state::foreign) && n.error.empty() && is_meant)
            tokens.push_back(n.value);
    }
    for (auto const& r : seen.readers)
        tokens.push_back(r.value);
    if (tokens.empty())
        tokens.emplace_back();  // a shared lock without readers: the empty token deletes it
    std::ranges::sort(tokens);
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    return tokens;
}

// The table of `redlock status` escapes the control characters of a value, so a token may be given in that form.
std::string meant_by(std::string const& token, lock_answer const& seen)
{
    std::string meant = token;
    auto const compare = [&](std::string const& value) {
        if (printable(value) == token)
            meant = value;
        return value == token;
    };
    bool const is_exact = std::ranges::any_of(seen.lock.nodes, compare, &node_view::value)
                          || std::ranges::any_of(seen.readers, compare, &reader_view::value);
    return is_exact ? token : meant;
}

// The script that releases a shared lock also releases an exclusive one. The tombstone stops the old holder from
// setting the key again.
questions to_delete(std::vector<std::string> const& tokens, std::string const& at)
{
    auto const& script = stores::redis::release_shared_script;
    questions all;
    all.push_back({"SCRIPT", "LOAD", std::string(script.source)});
    all.push_back({"PTTL", at});
    for (auto const& token : tokens) {
        auto& words = all.emplace_back();
        if (core::is_token(token))
            words = {"EVALSHA",
                     std::string(script.sha1),
                     "3",
                     at,
                     core::readers_key(at),
                     core::tombstone_key(at, token),
                     token,
                     std::to_string(core::tombstone_life.count())};
        else
            words = {"EVALSHA", std::string(script.sha1), "2", at, core::readers_key(at), token};
    }
    all.push_back({"PTTL", at});
    return all;
}

asio::awaitable<std::vector<deletion>> delete_seen(servers& all, std::vector<std::string> tokens, std::string at)
{
    auto const told = co_await all.ask_all(to_delete(tokens, at));
    bool const was_nobodys = tokens.front().empty();
    std::vector<deletion> deletions;
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto& d = deletions.emplace_back(deletion{.name = all.name(i), .answered = true});
        auto const replies = std::span(told[i].replies).subspan(1);  // without the reply of SCRIPT LOAD
        d.deleted = was_nobodys && replies.front().number().value_or(no_key) != no_key
                    && replies.back().number() == no_key;
        for (auto const& reply : replies.subspan(1, replies.size() - 2)) {
            d.deleted = d.deleted || reply.number() == 1;
            if (!reply.number()) {
                d.answered = false;
                d.error = reply.text;
            }
        }
    }
    co_return deletions;
}

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

// Whether a majority has answered.
bool is_known(std::vector<deletion> const& deletions)
{
    return static_cast<std::size_t>(std::ranges::count(deletions, true, &deletion::answered))
           >= deletions.size() / 2 + 1;
}

void tell(std::vector<deletion> const& deletions, lock_answer const& seen, settings const& s)
{
    auto const deleted = std::ranges::count(deletions, true, &deletion::deleted);
    auto const& name = s.locks.prefix + seen.lock.key;
    if (s.output == format::table) {
        print(fmt::format("{}: deleted on {} of {} nodes\n", printable(name), deleted, deletions.size()));
    } else {
        auto document = json_of(seen.lock);
        boost::json::array nodes;
        for (auto const& d : deletions) {
            boost::json::object node{{"name", d.name},
                                     {"result", d.deleted    ? "deleted"
                                                : d.answered ? "not_there"
                                                             : "unknown"}};
            if (!d.error.empty())
                node["error"] = valid_utf8(d.error);
            nodes.push_back(std::move(node));
        }
        document["deleted"] = deleted;
        document["nodes"] = std::move(nodes);
        print_json(document);
    }
    if (s.quiet)
        return;
    for (auto const& d : deletions) {
        if (!d.error.empty())
            remark(fmt::format("redlock break: {}: {}\n", printable(d.name), printable(d.error)));
    }
    if (deleted > 0)
        remark(
            "redlock break: the old holder continues until it notices: at its next renewal, about a third of its ttl "
            "from now; without renewal, never.\n"
            "Until then two clients may work at the same time. Only a resource that refuses old fencing tokens is "
            "safe from the old holder.\n");
    else if (is_known(deletions))
        remark("redlock break: the lock has expired or was released, or another client holds it now\n");
}

int status_of(std::vector<deletion> const& deletions)
{
    if (!is_known(deletions))
        return std::ranges::any_of(deletions, [](auto const& d) { return is_refused(d.error); }) ? no_permission
                                                                                                 : no_quorum;
    return std::ranges::any_of(deletions, &deletion::deleted) ? done : no;
}

// Connects again. While the operator thought about the answer, servers may have closed their connections, and the first
// question on a closed connection fails.
asio::awaitable<void> wake(servers& all, std::string at)
{
    questions ttl;
    ttl.push_back({"PTTL", std::move(at)});
    co_await all.ask_all(std::move(ttl));
}

asio::awaitable<int> look_and_break(servers& all, order const& o, settings const& s)
{
    auto const seen = co_await ask_about(all, s.locks.prefix, o.key);
    if (!s.quiet)
        remark(text_of(seen, s, false));
    if (!seen.lock.is_there())
        co_return seen.lock.state == lock_state::free ? no : is_refused(seen.lock) ? no_permission : no_quorum;
    if (std::ranges::none_of(seen.lock.nodes,
                             [](auto const& n) { return n.state > lock_state::free && n.error.empty(); }))
        throw early_exit(
            no,
            "redlock break: the key is not a string, so it is not a lock. If you know what it is, delete it with DEL");
    if (o.token.empty() && !seen.readers_hidden.empty())
        throw early_exit(is_refused(seen.readers_hidden) ? no_permission : no_quorum,
                         "redlock break: nothing was deleted, because a node does not list the readers: "
                             + printable(seen.readers_hidden));
    if (!may_break(o))
        throw early_exit(no, "redlock break: nothing was deleted");
    if (o.token.empty() && !o.yes)
        co_await wake(all, s.locks.prefix + o.key);
    auto const tokens = o.token.empty() ? seen_in(seen) : std::vector<std::string>(1, meant_by(o.token, seen));
    auto const deletions = co_await delete_seen(all, tokens, s.locks.prefix + o.key);
    tell(deletions, seen, s);
    co_return status_of(deletions);
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
    auto const s = line.read(std::move(given));
    return with_servers(s, "break", [&](servers& all) { return look_and_break(all, o, s); });
}

}  // namespace redlock::cli
