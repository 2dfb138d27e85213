// redlock top: shows the state of nodes and locks, and updates it regularly.

#include "tools/redlock/args/command_line.hpp"
#include "tools/redlock/args/commands.hpp"
#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/locks/looking.hpp"
#include "tools/redlock/args/output.hpp"
#include "tools/redlock/commands/screen.hpp"
#include "tools/redlock/commands/snapshot.hpp"
#include "tools/redlock/args/watched_input.hpp"
#include "runtime/as_result.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <csignal>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace redlock::cli {

namespace {

using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;

constexpr std::size_t rows_max = 500;

struct display {
    view_range range{};
    std::chrono::milliseconds interval{2000};
    bool once = false;
};

asio::awaitable<void> key_q()
{
    error_code ec;
    auto keys = watched_input(co_await asio::this_coro::executor, ec);
    while (!ec && ::isatty(STDIN_FILENO)) {
        std::tie(ec) = co_await keys.async_wait(asio::posix::stream_descriptor::wait_read, runtime::as_result);
        char key = 'q';
        if (!ec && (::read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q'))
            co_return;
    }
    co_await wait_for_ever();
}

// @return the signal that ends the program
asio::awaitable<int> signal_to_end(screen& shown)
{
    asio::signal_set signals(co_await asio::this_coro::executor, SIGINT, SIGTERM, SIGHUP);
    signals.add(SIGQUIT);
    signals.add(SIGTSTP);
    signals.add(SIGWINCH);
    for (;;) {
        auto [ec, number] = co_await signals.async_wait(runtime::as_result);
        if (ec || (number != SIGTSTP && number != SIGWINCH))
            co_return number;
        if (number == SIGTSTP)
            shown.suspend();
        else
            shown.redraw();
    }
}

// Ends only by cancellation. The pause is at least as long as a snapshot takes, so that the scan of many keys does not
// keep the servers busy all the time.
asio::awaitable<void> keep_looking(servers& all, display const& q, settings const& s, screen& shown)
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    std::optional<snapshot> last;
    for (;;) {
        auto now = co_await take_snapshot(all, s, q.range, last ? &*last : nullptr);
        shown.show(lines_of(now));
        timer.expires_after(
            std::max<std::chrono::steady_clock::duration>(q.interval, std::chrono::steady_clock::now() - now.taken));
        last = std::move(now);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

asio::awaitable<int> watch(servers& all, display const& q, settings const& s)
{
    screen shown(s.has_color(STDOUT_FILENO));
    auto const end = co_await (signal_to_end(shown) || key_q() || keep_looking(all, q, s, shown));
    auto const signal = end.index() == 0 ? std::get<0>(end) : 0;
    co_return signal == 0 || signal == SIGINT ? int(done) : by_signal + signal;
}

asio::awaitable<int> look_once(servers& all, display const& q, settings const& s)
{
    auto const seen = co_await take_snapshot(all, s, q.range, nullptr);
    if (s.output == format::table) {
        std::string text;
        for (auto const& l : lines_of(seen))
            text += l.text + '\n';
        print(text);
    } else {
        print_json(json_of(seen));
    }
    auto const up = static_cast<std::size_t>(std::ranges::count(seen.nodes, error_code(), &node_sample::error));
    if (up >= seen.nodes.size() / 2 + 1)
        co_return done;
    co_return std::ranges::any_of(seen.nodes, [](auto const& n) { return is_refused(n.error); }) ? no_permission
                                                                                                 : no_quorum;
}

}  // namespace

int top(arguments given)
{
    command_line line(
        "top",
        "Watch the nodes, with their round trips and votes, and the locks for which most processes wait. q or Ctrl-C "
        "ends it. If "
        "the output is no terminal, it looks once.",
        "New and gone compare two looks: holds shorter than the interval are missed. Each look scans the nodes like "
        "redlock list.\n"
        "Status: 0; after a single look, 69 if less than a majority of the nodes answered, 77 if they refuse.");
    display q;
    line.add_option("GLOB", q.range.glob, "a pattern of names, as of KEYS and SCAN: jobs/*");
    line.add_duration("--interval", q.interval, 100ms, 1h,
                      "the pause between two looks; at least as long as a look takes");
    line.add_number("--rows", q.range.rows, 0, rows_max, "show this many locks");
    line.add_flag("--once", q.once, "look once");
    auto const s = for_looking(line.read(std::move(given)));
    bool const once = q.once || s.output != format::table || !::isatty(STDOUT_FILENO);
    return with_servers(s, "top", [&](servers& all) { return once ? look_once(all, q, s) : watch(all, q, s); });
}

}  // namespace redlock::cli
