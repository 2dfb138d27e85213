// redlock hold: holds locks until its input ends or a signal arrives.

#include "tools/redlock/locks/acquiring.hpp"
#include "tools/redlock/run/child.hpp"
#include "tools/redlock/args/commands.hpp"
#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/args/output.hpp"
#include "tools/redlock/args/watched_input.hpp"
#include "tools/redlock/locks/with_source.hpp"
#include "runtime/as_result.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <chrono>
#include <csignal>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace redlock::cli {

namespace {

using namespace asio::experimental::awaitable_operators;

// Waits for the end of standard input, and ignores its contents. An input that cannot be waited for, such as a file,
// never ends. SIGTTIN is ignored, because a process that is stopped in the background cannot renew the lock.
asio::awaitable<void> end_of_input()
{
    auto const executor = co_await asio::this_coro::executor;
    error_code ec;
    auto input = watched_input(executor, ec);
    std::signal(SIGTTIN, SIG_IGN);
    std::array<char, 512> ignored;
    asio::steady_timer timer(executor);
    while (!ec) {
        std::tie(ec) = co_await input.async_wait(asio::posix::stream_descriptor::wait_read, runtime::as_result);
        auto const size = ec ? -1 : ::read(STDIN_FILENO, ignored.data(), ignored.size());
        if (size == 0)
            co_return;
        if (!ec && size < 0) {
            timer.expires_after(std::chrono::seconds(1));
            std::tie(ec) = co_await timer.async_wait(runtime::as_result);
        }
    }
    co_await wait_for_ever();
}

asio::awaitable<int> hold_until_told(lock_source& locks, how_to_acquire const& how, settings const& s)
{
    asio::signal_set ends(co_await asio::this_coro::executor, SIGINT, SIGTERM);
    if (!inheritance::ours().ignores(SIGHUP))  // nohup(1) ignores it
        ends.add(SIGHUP);
    auto got = co_await acquire(locks, how, s, ends, "hold");
    if (!got.held)
        co_return refuse(got.status, got.message, s);
    print(fmt::format("{}\n", fmt::join(got.held->resources(), " ")));
    auto const end = co_await (got.held->wait_lost() || ends.async_wait(runtime::as_result) || end_of_input());
    if (end.index() == 0)
        co_return refuse(lock_lost, fmt::format("redlock hold: {} is lost", fmt::join(got.held->resources(), ", ")), s);
    auto const ec = co_await got.held->release();
    co_return ec == errc::not_held ? lock_lost : done;
}

}  // namespace

int hold(arguments given)
{
    command_line line("hold",
                      "Hold locks until a signal (SIGINT, SIGTERM, SIGHUP) or the end of the input. Their names are "
                      "printed when they are held.",
                      "Status: 0 released; 124 lost before that; 75 another client holds them; 69 no quorum; 77 "
                      "password or access list; 78 configuration.");
    how_to_acquire how;
    line.add_keys(how.keys);
    how.add_to(line);
    line.may_use_services();
    auto s = line.read(std::move(given));
    how.add_to(s.locks);
    must_suit_service(line, s);
    how.check(line, s.locks);
    return with_source(s, "hold", [&](lock_source& locks) { return hold_until_told(locks, how, s); });
}

}  // namespace redlock::cli
