#include "tools/redlock/locks/acquiring.hpp"

#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/locks/lasting_cause.hpp"
#include "tools/redlock/locks/lock_view.hpp"
#include "tools/redlock/args/output.hpp"
#include "tools/redlock/args/watched_input.hpp"
#include "locks/check.hpp"
#include "runtime/as_result.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>

#include <csignal>
#include <cstddef>
#include <unistd.h>
#include <utility>
#include <variant>

namespace redlock::cli {

namespace {

using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

// Returns those of @p keys that are held. It takes one round trip, at most `manager_options::node_timeout`.
asio::awaitable<std::vector<lock_info>> look_at_holders(lock_source& locks, std::vector<std::string> const& keys)
{
    auto const executor = co_await asio::this_coro::executor;
    std::vector<decltype(asio::co_spawn(executor, locks.look_at(keys.front()), asio::deferred))> asked;
    for (auto const& key : keys)
        asked.push_back(asio::co_spawn(executor, locks.look_at(key), asio::deferred));
    auto [order, failures, found] = co_await asio::experimental::make_parallel_group(std::move(asked))
                                        .async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    std::vector<lock_info> held;
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (!failures[i] && found[i].info.locked)
            held.push_back(std::move(found[i].info));
    }
    co_return held;
}

// `held by web-3:4121 for "nightly report" since 10:04:12Z (3 min ago), ttl 7 s`
std::string hold_of(lock_info const& held)
{
    auto const end = held.remaining == milliseconds::max()
                         ? "without end"
                         : fmt::format("ttl {} s", std::chrono::ceil<std::chrono::seconds>(held.remaining).count());
    if (held.mode == mode::shared)
        return "shared, " + end;
    auto const by = view_of(held);
    return fmt::format("held by {}{}, {}", holder_of(lock_state::held, by.about.owner), purpose_of(by.about), end);
}

std::string name_of(std::string const& key, settings const& s) { return printable(s.locks.prefix + key); }

std::string names_of(how_to_acquire const& how, settings const& s)
{
    std::string all;
    for (auto const& key : how.keys)
        all += (all.empty() ? "" : ", ") + name_of(key, s);
    return all;
}

// Prints the holders of the locks regularly, if standard error is a terminal. Ends only by cancellation.
asio::awaitable<void> tell_holders(lock_source& locks, how_to_acquire const& how, settings const& s)
{
    if (s.quiet || !::isatty(STDERR_FILENO))
        co_return co_await wait_for_ever();
    asio::steady_timer timer(co_await asio::this_coro::executor);
    auto const begun = clock::now();
    for (auto pause = 1s; !(co_await asio::this_coro::cancellation_state).cancelled(); pause = 10s) {
        timer.expires_after(pause);
        co_await timer.async_wait(runtime::as_result);
        auto const all = co_await look_at_holders(locks, how.keys);
        auto const waited = std::chrono::duration_cast<std::chrono::seconds>(clock::now() - begun).count();
        for (auto const& held : all)
            say(fmt::format("redlock: waiting for {} for {} s, {}", name_of(held.resource, s), waited, hold_of(held)));
    }
}

// Prints the nodes that are missing for a majority, after they have been missing for
// `manager_options::connect_timeout`. Ends when waiting cannot help.
asio::awaitable<void> watch_quorum(how_to_acquire const& how, settings const& s, std::string_view command)
{
    if (how.at_once)
        co_return co_await wait_for_ever();
    auto& watch = *how.watch;
    asio::steady_timer timer(co_await asio::this_coro::executor);
    watch.changed = [&timer] { timer.cancel(); };
    while (!(co_await asio::this_coro::cancellation_state).cancelled()) {
        if (watch.lacks_quorum() && watch.lasting_status())
            break;
        auto const due = watch.since() + s.locks.connect_timeout;
        bool const has_news = !s.quiet && watch.lacks_quorum() && watch.has_news();
        if (has_news && clock::now() >= due) {
            say(fmt::format("redlock {}: waiting: {}", command, watch.news()));
            watch.set_told();
            continue;
        }
        if (has_news)
            timer.expires_after(due - clock::now());
        else
            timer.expires_at(asio::steady_timer::time_point::max());
        co_await timer.async_wait(runtime::as_result);
    }
    watch.changed = {};
}

// Names the awaited locks and the reason why they were not acquired. A second signal skips the question for holders.
asio::awaitable<std::string> awaited_locks(lock_source& locks, how_to_acquire const& how, settings const& s,
                                           asio::signal_set& signals)
{
    if (how.watch->lacks_quorum())
        co_return fmt::format("{}: {}", names_of(how, s), how.watch->missing_nodes());
    int number = 0;
    auto found = co_await (look_at_holders(locks, how.keys) || wait_for_end(signals, number));
    std::string text;
    if (auto* const all = std::get_if<0>(&found)) {
        for (auto const& held : *all)
            text += fmt::format("{}{}, {}", text.empty() ? "" : "; ", name_of(held.resource, s), hold_of(held));
    }
    co_return text.empty() ? names_of(how, s) : text;
}

// Names the holders of denied locks: "x is held by web-3:4121, ttl 7 s". Empty if no lock is held any more.
asio::awaitable<std::string> denied_locks(lock_source& locks, how_to_acquire const& how)
{
    std::string text;
    for (auto const& held : co_await look_at_holders(locks, how.keys))
        text += fmt::format("{}{} is {}", text.empty() ? "" : "; ", printable(held.resource), hold_of(held));
    co_return text;
}

}  // namespace

void how_to_acquire::add_to(command_line& line)
{
    using std::chrono::hours;
    line.add_ttl(ttl, "how long the servers keep the locks if they are not renewed");
    line.add_duration("--wait,-w", wait, 0ms, hours(24 * 365),
                      "wait at most this long; without it, for ever; also $REDLOCK_WAIT")
        ->each([this](std::string const&) { is_limited = true; });
    line.add_flag("--nonblock,-n", at_once, "do not wait");
    line.add_duration("--max-hold", max_hold, 20ms, hours(24 * 365),
                      "the locks end after this time, even if they were renewed");
    line.add_flag("--shared,-s", shared, "share the lock with other holders that use --shared; one KEY only");
    line.add_flag("--fencing", fencing, "draw a fencing token");
    line.add_text("--note", "TEXT", note,
                  "what the lock is held for, up to 200 bytes: everybody who sees the holder sees this, too");
}

void how_to_acquire::add_to(manager_options& c) const
{
    c.fencing = fencing;
    c.observer = watch;
}

acquire_options how_to_acquire::options() const
{
    return {.ttl = ttl,
            .wait = at_once      ? 0ms
                    : is_limited ? wait
                                 : wait_forever,
            .renew = renew,
            .max_hold = max_hold,
            .mode = shared ? mode::shared : mode::exclusive,
            .passes_writers = passes_writers,
            .explain = true,
            .note = note};
}

void how_to_acquire::check(command_line const& line, manager_options const& c) const
{
    if (line.is_given("--wait") && line.is_given("--nonblock"))
        line.refuse("--wait waits, and --nonblock does not: give one of them");
    if (auto const why = locks::check(options(), c); why.starts_with("note "))
        line.refuse("--" + why);
}

asio::awaitable<void> wait_for_end(asio::signal_set& signals, int& number)
{
    while (number == 0) {
        auto const [ec, which] = co_await signals.async_wait(runtime::as_result);
        if (ec)
            co_return;
        if (which == SIGHUP || which == SIGINT || which == SIGQUIT || which == SIGTERM)
            number = which;
    }
}

int refuse(int status, std::string const& why, settings const& s)
{
    if (!s.quiet)
        say(why);
    return status;
}

std::int64_t deadline_of(held_locks const& held)
{
    auto const left = std::chrono::duration_cast<milliseconds>(held.valid_until() - clock::now());
    auto const end = std::chrono::system_clock::now() + left;
    return std::chrono::duration_cast<milliseconds>(end.time_since_epoch()).count();
}

boost::json::array json_of(std::span<std::string const> keys)
{
    boost::json::array all;
    for (auto const& key : keys)
        all.emplace_back(valid_utf8(key));
    return all;
}

asio::awaitable<acquired> acquire(lock_source& locks, how_to_acquire const& how, settings const& s,
                                  asio::signal_set& signals, std::string_view command)
{
    int number = 0;  // a signal counts even if the lock was acquired at the same time
    auto const begun = clock::now();
    auto outcome = co_await (locks.ask(how) || wait_for_end(signals, number) || tell_holders(locks, how, s)
                             || watch_quorum(how, s, command));
    auto* const asked = std::get_if<0>(&outcome);
    auto result = asked && number == 0 ? std::move(*asked) : acquired();
    result.waited = std::chrono::duration_cast<milliseconds>(clock::now() - begun);
    auto const& watch = *how.watch;
    if (number != 0) {
        result.status = by_signal + number;
        result.message = fmt::format("redlock {}: interrupted while waiting for {}", command,
                                     co_await awaited_locks(locks, how, s, signals));
    } else if (!asked) {
        result.status = watch.lasting_status().value_or(no_quorum);
        result.message = fmt::format("redlock {}: cannot hold {}: {}{}", command, names_of(how, s),
                                     watch.missing_nodes(), ways_out(watch.nodes()));
    } else if (result.status == busy) {
        if (auto const holders = co_await denied_locks(locks, how); !holders.empty())
            result.message = fmt::format("redlock {}: {}", command, holders);
    }
    co_return result;
}

}  // namespace redlock::cli
