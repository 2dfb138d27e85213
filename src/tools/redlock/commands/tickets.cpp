// redlock acquire, renew, release: locks for scripts. A token passes a lock from one process to the next.

#include "tools/redlock/locks/acquiring.hpp"
#include "tools/redlock/args/commands.hpp"
#include "tools/redlock/args/early_exit.hpp"
#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/locks/lasting_cause.hpp"
#include "tools/redlock/locks/node_source.hpp"
#include "tools/redlock/args/node_urls.hpp"
#include "tools/redlock/args/output.hpp"
#include "tools/redlock/args/permissions.hpp"
#include "tools/redlock/args/server_place.hpp"
#include "tools/redlock/locks/with_locks.hpp"
#include "runtime/as_result.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <cstdlib>
#include <utility>

namespace redlock::cli {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr auto ttl_of_scripts = 60s;  // long, because these locks are not renewed automatically

// Prints what the caller needs to renew and release: lines for eval, or JSON.
void print_held(held_locks const& held, milliseconds ttl, settings const& s)
{
    auto const deadline = deadline_of(held);
    if (s.output != format::table) {
        return print_json({{"keys", json_of(held.resources())},
                           {"token", held.token()},
                           {"fence", held.fencing_token()},
                           {"ttl_ms", ttl.count()},
                           {"deadline", deadline}});
    }
    print(fmt::format("REDLOCK_KEY={}\nREDLOCK_TOKEN={}\nREDLOCK_FENCE={}\nREDLOCK_TTL_MS={}\nREDLOCK_DEADLINE={}\n"
                      "export REDLOCK_KEY REDLOCK_TOKEN REDLOCK_FENCE REDLOCK_TTL_MS REDLOCK_DEADLINE\n",
                      shell_quoted(fmt::format("{}", fmt::join(held.resources(), "\n"))), shell_quoted(held.token()),
                      held.fencing_token(), ttl.count(), deadline));
}

// The token is printed before the lock is detached. If printing fails, the lock is released.
asio::awaitable<int> acquire_and_leave(lock_manager& locks, how_to_acquire const& how, settings const& s)
{
    asio::signal_set ends(co_await asio::this_coro::executor, SIGINT, SIGTERM, SIGHUP);
    node_source nodes(locks, "acquire");
    auto got = co_await acquire(nodes, how, s, ends, "acquire");
    if (!got.held)
        co_return refuse(got.status, got.message, s);
    print_held(*got.held, how.ttl, s);
    error_code ec;
    std::static_pointer_cast<node_locks>(got.held)->get().detach(ec);
    co_return ec ? refuse(status_of(ec), "redlock acquire: " + ec.message(), s) : static_cast<int>(done);
}

asio::awaitable<int> resume_and_leave(lock_manager& locks, lock_ticket const& ticket, milliseconds ttl,
                                      settings const& s)
{
    auto [ec, resumed] = co_await locks.async_resume(ticket, {.ttl = ttl, .explain = true}, runtime::as_result);
    if (ec)
        co_return refuse(ec == errc::lost ? static_cast<int>(no) : status_of(*resumed.report()),
                         resumed.report()->message, s);
    node_locks held(std::move(resumed));
    print_held(held, ttl, s);
    held.get().detach(ec);
    co_return status_of(ec);
}

asio::awaitable<int> give_back(lock_manager& locks, lock_ticket const& ticket, settings const& s)
{
    auto [ec] = co_await locks.async_release(ticket, runtime::as_result);
    if (!ec)
        co_return done;
    co_return refuse(status_of(ec),
                     fmt::format("redlock release: {}: {}", fmt::join(ticket.resources.names(), ", "), ec.message()),
                     s);
}

/// The arguments of renew and release.
struct ticket_arguments {
    std::vector<std::string> words;
    bool shared = false;

    void add_to(command_line& line)
    {
        line.set_operands("KEY… TOKEN");
        line.add_option("KEY", words, "")->required()->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
        line.add_flag("--shared,-s", shared, "the lock was acquired with --shared");
    }

    lock_ticket ticket(command_line const& line) const
    {
        if (words.size() < 2)
            line.refuse("it needs the names of the locks and their token: KEY… TOKEN");
        auto const ours = in_environment("REDLOCK_TOKEN");
        auto const token = words.back() != "-" ? words.back() : ours;
        if (token.empty())
            line.refuse("the token is \"-\", and $REDLOCK_TOKEN is empty");
        return {.resources = std::vector<std::string>(words.begin(), words.end() - 1),
                .token = token,
                .mode = shared ? mode::shared : mode::exclusive,
                .fencing_token = token == ours ? std::strtoull(in_environment("REDLOCK_FENCE").c_str(), nullptr, 10)
                                               : 0};
    }
};

constexpr auto notes =
    "Status: 0 done; 1 the locks are no longer held; 69 too few nodes answered.\n"
    "\"-\" for the TOKEN: $REDLOCK_TOKEN, as all users of a machine can read the arguments of a process.";

}  // namespace

int acquire(arguments given)
{
    command_line line(
        "acquire",
        "Acquire locks for a script, which renews and releases them: held=$(redlock acquire KEY…) || exit; eval "
        "\"$held\". "
        "Nothing renews them by itself.",
        "It prints REDLOCK_KEY, REDLOCK_TOKEN, REDLOCK_FENCE, REDLOCK_TTL_MS and REDLOCK_DEADLINE (in milliseconds "
        "since 1970) "
        "for a shell, or, with -o json, a document.\n"
        "Status: 0 held; 75 another client holds them; 69 no quorum; 77 password or access list; 78 configuration.");
    how_to_acquire how{.ttl = ttl_of_scripts, .renew = renewal::none};
    line.add_keys(how.keys);
    how.add_to(line);
    auto s = line.read(std::move(given));
    how.add_to(s.locks);
    how.check(line, s.locks);
    must_outlive_processes(s, "acquire");
    return with_locks(s, [&](lock_manager& locks) { return acquire_and_leave(locks, how, s); });
}

int renew(arguments given)
{
    command_line line("renew", "Renew locks of \"redlock acquire\": redlock renew KEY… TOKEN.", notes);
    ticket_arguments what;
    milliseconds ttl = ttl_of_scripts;
    what.add_to(line);
    line.add_ttl(ttl, "how long the servers keep the locks from now on");
    auto const s = line.read(std::move(given));
    auto const ticket = what.ticket(line);
    must_outlive_processes(s, "renew");
    return with_locks(s, [&](lock_manager& locks) { return resume_and_leave(locks, ticket, ttl, s); });
}

int release(arguments given)
{
    command_line line("release", "Release locks of \"redlock acquire\": redlock release KEY… TOKEN.", notes);
    ticket_arguments what;
    what.add_to(line);
    auto const s = line.read(std::move(given));
    auto const ticket = what.ticket(line);
    must_outlive_processes(s, "release");
    return with_locks(s, [&](lock_manager& locks) { return give_back(locks, ticket, s); });
}

}  // namespace redlock::cli
