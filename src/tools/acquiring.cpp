#include "tools/acquiring.hpp"

#include "runtime/as_result.hpp"
#include "tools/exit_status.hpp"
#include "tools/output.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>

#include <fmt/format.h>

#include <csignal>
#include <unistd.h>
#include <utility>
#include <variant>

namespace redlock::tools {

namespace {

using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;

asio::awaitable<acquired> ask(lock_manager& locks, how_to_acquire const& how)
{
    attempt_report report;
    auto [ec, held] = co_await locks.async_acquire(resource_set(how.keys), how.options(report), as_result);
    co_return acquired{std::move(held), status_of(report), report.message, std::chrono::duration_cast<std::chrono::milliseconds>(report.elapsed)};
}

// Whoever sits at a terminal is told for whom we wait. Never ends.
asio::awaitable<void> tell_who_has_it(lock_manager& locks, how_to_acquire const& how, settings const& s)
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    auto const begun = clock::now();
    if (s.quiet || !::isatty(STDERR_FILENO)) {
        timer.expires_at(asio::steady_timer::time_point::max());
        co_await timer.async_wait(as_result);
    }
    for (auto pause = 1s; !(co_await asio::this_coro::cancellation_state).cancelled(); pause = 10s) {
        timer.expires_after(pause);
        co_await timer.async_wait(as_result);
        for (auto const& key : how.keys) {
            auto [ec, info] = co_await locks.async_inspect(key, as_result);
            auto const waited = std::chrono::duration_cast<std::chrono::seconds>(clock::now() - begun).count();
            auto const who = info.mode == mode::shared ? "shared" : info.owner.empty() ? "held by a client without a name" : "held by " + info.owner;
            auto const end = info.remaining == std::chrono::milliseconds::max() ? "without end" : fmt::format("ttl {} s", std::chrono::ceil<std::chrono::seconds>(info.remaining).count());
            if (!ec && info.locked)
                say(fmt::format("redlock: waiting for {}{} for {} s, {}, {}", s.locks.prefix, key, waited, printable(who), end));
        }
    }
}

}  // namespace

void how_to_acquire::add_to(command_line& line)
{
    using std::chrono::hours;
    line.add_ttl(ttl, "for how long the servers keep the locks if nobody extends them");
    line.add_duration("--wait,-w", wait, 0ms, hours(24 * 365), "for how long to wait for them; otherwise for ever; also $REDLOCK_WAIT")->each([this](std::string const&) { is_limited = true; });
    line.add_flag("--nonblock,-n", at_once, "do not wait");
    line.add_duration("--max-hold", max_hold, 20ms, hours(24 * 365), "the locks are lost after this, however often they were renewed");
    line.add_flag("--shared,-s", shared, "share the lock with others that do; one KEY only");
    line.add_flag("--fencing", fencing, "draw a fencing token");
}

acquire_options how_to_acquire::options(attempt_report& report) const
{
    return {.ttl = ttl,
            .wait = at_once ? 0ms : is_limited ? wait : wait_forever,
            .renew = renew,
            .max_hold = max_hold,
            .mode = shared ? mode::shared : mode::exclusive,
            .report = &report};
}

asio::awaitable<void> wait_for_end(asio::signal_set& signals, int& number)
{
    while (number == 0) {
        auto const [ec, which] = co_await signals.async_wait(as_result);
        if (ec)
            co_return;
        if (which == SIGHUP || which == SIGINT || which == SIGQUIT || which == SIGTERM)
            number = which;
    }
}

asio::awaitable<acquired> acquire(lock_manager& locks, how_to_acquire const& how, settings const& s, asio::signal_set& signals)
{
    int number = 0;  // though the lock may have been won at the same moment
    auto outcome = co_await (ask(locks, how) || wait_for_end(signals, number) || tell_who_has_it(locks, how, s));
    auto* const asked = std::get_if<0>(&outcome);
    if (number != 0 || !asked)
        co_return acquired{.status = by_signal + number, .message = "interrupted"};
    co_return std::move(*asked);
}

}  // namespace redlock::tools
