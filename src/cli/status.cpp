// redlock status: shows who holds a lock.

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/early_exit.hpp"
#include "cli/exit_status.hpp"
#include "cli/lasting_cause.hpp"
#include "cli/lock_question.hpp"
#include "cli/lock_report.hpp"
#include "cli/output.hpp"
#include "cli/with_locks.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace redlock::cli {

namespace {

using namespace std::chrono_literals;

struct question {
    std::string key{};
    bool tokens = false;
};

int tell(lock_answer const& answer, question const& q, settings const& s, bool is_refused)
{
    if (s.output == format::table)
        print(text_of(answer, s, q.tokens));
    else
        print_json(json_of(answer, q.tokens));
    if (answer.lock.state != lock_state::unknown)
        return answer.lock.state == lock_state::free || answer.lock.state == lock_state::partial ? no : done;
    return is_refused ? no_permission : no_quorum;
}

asio::awaitable<int> inspect(lock_manager& locks, question const& q, settings const& s)
{
    auto [ec, info] = co_await locks.async_inspect(q.key, asio::as_tuple(asio::use_awaitable));
    if (ec && ec != errc::no_quorum)
        throw early_exit(status_of(ec), "redlock status: " + ec.message());
    auto const is_refused = [](auto const& n) {
        return n.error == errc::authentication_failed || n.error == errc::permission_denied;
    };
    co_return tell(answer_of(info), q, s, std::ranges::any_of(info.nodes, is_refused));
}

// Redis and Valkey servers are only read. So this works with a user who must not write, and on a replica.
asio::awaitable<int> ask(servers& all, question const& q, settings const& s)
{
    auto const answer = co_await ask_about(all, s.locks.prefix, q.key);
    co_return tell(answer, q, s, is_refused(answer.lock));
}

// An inspection needs no votes, so it also asks servers that the settings would keep from voting. It leaves no life
// marker. `config::node_timeout` is meant for a vote: the first question to a server also needs the time to connect.
void prepare(config& c)
{
    c.restart_guard = restart_guard::off;
    c.allow_eviction = true;
    c.life_marker = false;
    c.node_timeout = std::max(c.node_timeout, std::min(1000ms, c.max_ttl - 1ms));
}

}  // namespace

int status(arguments given)
{
    command_line line(
        "status",
        "Show who holds a lock, since when and for what, its ttl, what each node says, who shares it, and who waits.",
        "The start of a hold is by the clock of the holder. Waiting processes are those that were denied the lock "
        "lately. Redis and Valkey servers are only read.\n"
        "The answer may be outdated. Never start work because status says free: acquire the lock.\n"
        "Status: 0 the lock is held, exclusive or shared; 1 it is free, or on no majority; 69 too few nodes answered "
        "to tell; "
        "77 too few, because they refuse.");
    question q;
    line.add_key(q.key);
    line.add_flag("--tokens", q.tokens,
                  "show the tokens of the holders. Everybody who knows a token can release the lock");
    auto s = line.read(std::move(given));
    if (are_servers(s))
        return with_servers(s, "status", [&](servers& all) { return ask(all, q, s); });
    prepare(s.locks);
    return with_locks(s, [&](lock_manager& locks) { return inspect(locks, q, s); });
}

}  // namespace redlock::cli
