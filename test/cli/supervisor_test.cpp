// The supervisor of "redlock run" stops a command whose lock cannot be kept: in virtual time, with a fake command.

#include "tools/redlock/locks/node_source.hpp"
#include "tools/redlock/run/supervisor.hpp"

#include <redlock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using fault = memory_server::fault;
using cli::on_lost;
using std::chrono::milliseconds;

namespace {

/// A fake command that records the calls of the supervisor. It ignores every signal but SIGKILL and @ref ends_by.
class scripted_command final : public cli::supervised {
public:
    struct event {
        clock::time_point when;
        std::string what;
    };

    explicit scripted_command(testing::manual_clock& c) : clock_(c) {}

    void signal(int s) noexcept override
    {
        note(s == SIGTERM ? "TERM" : s == SIGKILL ? "KILL" : s == SIGCONT ? "CONT" : fmt::format("signal {}", s));
        if (s == SIGKILL || s == ends_by)
            end();
    }
    void forward(int s) noexcept override { note(fmt::format("forwarded {}", s)); }
    void check_children() noexcept override { is_known_to_have_ended_ = has_ended_; }
    bool has_ended() const noexcept override { return is_known_to_have_ended_; }
    bool was_killed() const noexcept override { return is_killed_by_guardian; }
    bool was_stopped() noexcept override { return std::exchange(is_stopped, false); }
    bool is_gone() noexcept override { return is_known_to_have_ended_ && left_behind == 0; }
    void must_end_by(clock::time_point end) noexcept override { ends_at = end; }
    void suspend_with_command() noexcept override
    {
        note("stop");
        // This process is stopped: time passes, and no handler runs.
        asio::io_context nothing;
        clock_.advance(nothing, stopped_for);
    }
    void resume() noexcept override { note("go on"); }

    void end() noexcept
    {
        if (!std::exchange(has_ended_, true))
            std::raise(SIGCHLD);
    }
    void end_unnoticed() noexcept { has_ended_ = true; }
    void stop()
    {
        is_stopped = true;
        std::raise(SIGCHLD);
    }

    std::vector<event> events;
    int ends_by = SIGKILL;
    int left_behind = 0;  ///< other running processes of its group; their end causes no SIGCHLD
    bool is_stopped = false;
    bool is_killed_by_guardian = false;
    clock::time_point ends_at{};  ///< when a guardian would kill it
    clock::duration stopped_for = 1s;

private:
    void note(std::string what) noexcept { events.push_back({clock_.now(), std::move(what)}); }

    testing::manual_clock& clock_;
    bool has_ended_ = false, is_known_to_have_ended_ = false;
};

struct how {
    on_lost then = on_lost::term;
    milliseconds ttl = 10s, grace = 1s;
    acquire_options acquire{.renew = renewal::automatic};
    resource_set resources = "stock";
};

/// A supervisor of a scripted command that holds a lock on three memory nodes.
struct fixture {
    static constexpr milliseconds node_timeout = 10ms;

    explicit fixture(how h = {}) : ttl(h.ttl)
    {
        h.acquire.ttl = h.ttl;
        locks.async_acquire(h.resources, h.acquire, [this](error_code, lock l) { held = std::move(l); });
        clock->advance(context, 0s);
        BOOST_TEST_REQUIRE(held.held());
        begun = clock->now();
        cli::supervisor::options o{.ttl = h.ttl, .grace = h.grace, .then = h.then, .test_clock = clock};
        o.max_hold = h.acquire.max_hold;
        o.renewal_timeout = h.acquire.renew == renewal::automatic ? node_timeout : 0ms;
        o.lost = [this] { ++losses; };
        o.say = [this](std::string const& text) { said.push_back(text); };
        watcher = std::make_shared<cli::supervisor>(signals, ours, command, std::move(o));
    }

    void start()
    {
        asio::co_spawn(context, watcher->run(), [this](std::exception_ptr e, bool was_kept) {
            BOOST_TEST(!e);
            kept = was_kept;
            ended = clock->now();
        });
        pass(0s);
    }

    /// Makes the command end.
    void end()
    {
        command.end();
        pass(0s);
    }

    void pass(clock::duration d) { clock->advance(context, d); }

    /// Pauses this process: time passes, and no handler runs.
    void pause(clock::duration d)
    {
        asio::io_context nothing;
        clock->advance(nothing, d);
        pass(0s);
    }

    void pass_until(redlock::clock::time_point t) { pass(t - clock->now()); }
    redlock::clock::time_point kill_at() const
    {
        return held.valid_until() - std::min(std::max(ttl / 20, 50ms), ttl / 5);
    }

    /// Makes a majority of the nodes fail.
    void cut_off(fault f = fault::unreachable) { a->set_fault(f), b->set_fault(f); }

    /// Sets the key to another client's value on a majority of the nodes.
    void steal() { a->set("lock:stock", "somebody else", 1h), b->set("lock:stock", "somebody else", 1h); }

    void get(int number)
    {
        std::raise(number);
        pass(0s);
    }

    using lines = std::vector<std::string>;

    /// The recorded calls, each with its time in milliseconds after the end of the validity.
    lines heard() const
    {
        lines all;
        for (auto const& e : command.events)
            all.push_back(fmt::format("{} {}", (e.when - held.valid_until()) / 1ms, e.what));
        return all;
    }

    void must_have_heard(lines const& expected) const
    {
        BOOST_TEST(heard() == expected, boost::test_tools::per_element());
    }

    /// @param was_kept  whether the lock was kept; nothing: the command still runs
    /// @param told      how often the loss was reported
    void must_be(std::optional<bool> was_kept, int told) const
    {
        BOOST_TEST((kept == was_kept));
        BOOST_TEST(losses == told);
    }
    void must_be(std::optional<bool> was_kept, int told, lines const& expected) const
    {
        must_have_heard(expected);
        must_be(was_kept, told);
    }

    void must_have_said_once(std::string_view part) const
    {
        BOOST_TEST_REQUIRE(said.size() == 1u);
        BOOST_TEST(said[0].find(part) != std::string::npos, said[0]);
    }

    /// The recorded calls without the times.
    lines heard_of() const
    {
        lines all;
        for (auto const& e : command.events)
            all.push_back(e.what);
        return all;
    }

    milliseconds const ttl;
    std::shared_ptr<memory_server> a = memory_server::at("a"), b = memory_server::at("b"), c = memory_server::at("c");
    std::shared_ptr<testing::manual_clock> clock = std::make_shared<testing::manual_clock>();
    asio::io_context context;
    manager_options const settings{
        .nodes = {"memory://a", "memory://b", "memory://c"}, .node_timeout = node_timeout, .test_clock = clock};
    lock_manager locks{context, settings};
    std::shared_ptr<cli::node_locks> const ours = std::make_shared<cli::node_locks>(lock());
    lock& held = ours->get();
    clock::time_point begun;
    asio::signal_set signals{context};
    scripted_command command{*clock};
    std::shared_ptr<cli::supervisor> watcher;
    std::optional<bool> kept;  ///< the result of supervisor::run
    clock::time_point ended;
    int losses = 0;
    std::vector<std::string> said;

private:
    struct handled {
        explicit handled(asio::signal_set& all)
        {
            for (int const s :
                 {SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP})
                all.add(s);
        }
    } const handled_{signals};
};

struct running : fixture {
    explicit running(how h = {}) : fixture(std::move(h)) { start(); }
};

using lines = fixture::lines;

// The rows of the table in docs/cli.md. An outage or a pause is worst if it begins immediately before a renewal.
struct survived {
    milliseconds ttl, outage, pause;
};

survived const table[] = {{10s, 4'000ms, 6'000ms}, {30s, 13'100ms, 18'100ms}, {60s, 31'300ms, 36'300ms}};

constexpr int moments = 40;

// Whether the command continues after the trouble. Tries many times for its beginning.
template <class Trouble>
bool survives(milliseconds ttl, Trouble trouble)
{
    for (int i = 0; i < moments; ++i) {
        running f({.ttl = ttl, .grace = cli::default_grace(ttl)});
        f.pass(ttl + ttl * i / (3 * moments));
        trouble(f);
        f.pass(ttl);
        if (f.kept || !f.heard().empty() || !f.held.held())
            return false;
    }
    return true;
}

bool survives_outage(milliseconds ttl, milliseconds d)
{
    return survives(ttl, [d](fixture& f) { f.cut_off(fault::hung), f.pass(d), f.cut_off(fault::none); });
}

bool survives_pause(milliseconds ttl, milliseconds d)
{
    return survives(ttl, [d](fixture& f) { f.pause(d); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(supervisor)

BOOST_AUTO_TEST_CASE(run_with_successful_renewals_does_not_stop_the_command)
{
    for (auto const then : {on_lost::term, on_lost::kill, on_lost::warn}) {
        running f({.then = then});
        f.pass(1h);
        BOOST_TEST(!f.kept);
        f.end();
        f.must_be(true, 0, {});
        BOOST_TEST(f.said.empty());
    }
}

// At that time the guardian kills it, if this process is stopped: not before the lock is renewed, and not after its
// end.
BOOST_AUTO_TEST_CASE(must_end_by_of_a_renewed_lock_is_in_the_future_and_within_its_validity)
{
    for (milliseconds const ttl : {300ms, 1000ms, 10'000ms}) {
        fixture f(how{.ttl = ttl, .grace = ttl / 5});
        f.start();
        auto known = f.held.valid_until();
        auto renewed = f.clock->now();
        for (auto const end = f.clock->now() + 5 * ttl; f.clock->now() < end; f.pass(ttl / 50)) {
            if (std::exchange(known, f.held.valid_until()) != known)
                renewed = f.clock->now();
            BOOST_TEST((f.command.ends_at > f.clock->now() + ttl / 5));
            BOOST_TEST((f.command.ends_at < f.held.valid_until()));
            if (f.clock->now() > renewed + ttl / 20)
                BOOST_TEST((f.command.ends_at > f.kill_at()));
        }
        f.cut_off();
        f.pass(ttl);
        BOOST_TEST((f.command.ends_at > f.kill_at() && f.command.ends_at < f.held.valid_until()));
        f.end();
    }
}

BOOST_AUTO_TEST_CASE(run_of_a_command_that_the_guardian_killed_reports_the_loss)
{
    fixture f;
    f.start();
    f.pass(4s);
    f.pause(30s);
    f.command.is_killed_by_guardian = true;
    f.end();
    f.must_be(false, 1);
    f.must_have_said_once("the command");
}

BOOST_AUTO_TEST_CASE(must_end_by_with_warn_is_never)
{
    fixture f(how{.then = on_lost::warn});
    f.start();
    f.cut_off();
    f.pass(20s);
    BOOST_TEST((f.command.ends_at == clock::time_point::max()));
    f.end();
}

BOOST_AUTO_TEST_CASE(run_of_a_command_that_has_already_ended_returns_immediately)
{
    fixture f;
    f.command.end_unnoticed();
    f.start();
    f.must_be(true, 0, {});
}

// SIGKILL comes one margin before the end of the validity: min(max(ttl/20, 50 ms), ttl/5). SIGTERM comes one grace
// before SIGKILL. The grace is at most half of the ttl without the margin.
BOOST_AUTO_TEST_CASE(term_without_renewal_sends_sigterm_and_sigkill_before_the_end)
{
    struct {
        milliseconds ttl, grace;
        lines expected;
    } const rows[] = {
        {10s, 1s, {"-1500 TERM", "-1500 CONT", "-500 KILL"}},
        {10s, 4750ms, {"-5250 TERM", "-5250 CONT", "-500 KILL"}},
        {10s, 1h, {"-5250 TERM", "-5250 CONT", "-500 KILL"}},
        {60s, 5s, {"-8000 TERM", "-8000 CONT", "-3000 KILL"}},
        {1s, 200ms, {"-250 TERM", "-250 CONT", "-50 KILL"}},
        {100ms, 5s, {"-60 TERM", "-60 CONT", "-20 KILL"}},
        {10s, 0s, {"-500 KILL"}},
    };
    for (auto const& row : rows) {
        running f({.ttl = row.ttl, .grace = row.grace, .acquire = {.renew = renewal::none}});
        f.pass(2 * row.ttl);
        f.must_be(false, 1, row.expected);
        BOOST_TEST((f.ended < f.held.valid_until()));
        BOOST_TEST(f.losses == 1);
    }
}

BOOST_AUTO_TEST_CASE(term_after_max_hold_sends_sigterm_and_sigkill_before_the_end)
{
    running f({.acquire = {.renew = renewal::automatic, .max_hold = 1min}});
    f.pass(1h);
    f.must_have_heard({"-1500 TERM", "-1500 CONT", "-500 KILL"});
    BOOST_TEST((f.ended < f.begun + 1min));
}

BOOST_AUTO_TEST_CASE(run_with_a_max_hold_below_the_ttl_leaves_time_to_work)
{
    struct {
        milliseconds max_hold, grace;
        lines expected;
    } const rows[] = {
        {3s, 5s, {"-1575 TERM", "-1575 CONT", "-150 KILL"}},
        {3s, 1s, {"-1150 TERM", "-1150 CONT", "-150 KILL"}},
        {200ms, 5s, {"-120 TERM", "-120 CONT", "-40 KILL"}},
    };
    for (auto const& row : rows) {
        running f({.ttl = 10s, .grace = row.grace, .acquire = {.renew = renewal::automatic, .max_hold = row.max_hold}});
        BOOST_TEST((f.held.valid_until() == f.begun + row.max_hold));
        f.pass(row.max_hold * 2);
        f.must_be(false, 1, row.expected);
        BOOST_TEST((f.ended < f.held.valid_until()));
    }
}

BOOST_AUTO_TEST_CASE(term_when_renewals_fail_sends_sigterm_and_sigkill_before_the_end)
{
    for (auto const how_they_fail : {fault::unreachable, fault::hung, fault::mute}) {
        running f;
        f.pass(1min);
        f.cut_off(how_they_fail);
        f.pass(1min);
        f.must_be(false, 1, {"-1500 TERM", "-1500 CONT", "-500 KILL"});
        BOOST_TEST(f.said
                       == (lines{"stock cannot be kept, and will be lost in 1.0 s; the command is asked to stop",
                                 "stock cannot be kept; the command is killed"}),
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(term_when_renewals_fail_for_a_while_does_not_stop_the_command)
{
    running f;
    f.pass(1min);
    f.cut_off();
    // A renewal is tried again after 500 ms, and SIGTERM would come after 600.
    f.pass_until(f.held.valid_until() - 2100ms);
    f.cut_off(fault::none);
    f.pass(1h);
    f.must_be(std::nullopt, 0, {});
    f.end();
    BOOST_TEST((f.kept == true));
}

BOOST_AUTO_TEST_CASE(run_renews_once_more_before_the_command_is_stopped)
{
    for (auto const then : {on_lost::term, on_lost::kill, on_lost::warn}) {
        running f({.then = then});
        f.cut_off();
        f.pass_until(f.kill_at() - (then == on_lost::term ? 1s : 0s) - f.node_timeout - 1ms);
        f.cut_off(fault::none);
        f.pass(1h);
        f.must_be(std::nullopt, 0, {});
    }
}

BOOST_AUTO_TEST_CASE(run_after_a_pause_beyond_sigterm_renews_and_continues)
{
    for (auto const then : {on_lost::term, on_lost::kill, on_lost::warn}) {
        running f({.then = then, .grace = 4s});
        f.pass(1min);
        f.pause(f.kill_at() - f.clock->now() - 1ms);
        f.pass(1h);
        f.must_be(std::nullopt, 0, {});
    }
}

BOOST_AUTO_TEST_CASE(run_after_a_pause_with_nodes_down_stops_the_command)
{
    for (auto const how_they_fail : {fault::unreachable, fault::hung}) {
        running f;
        f.pass(1min);
        f.cut_off(how_they_fail);
        f.pause(f.kill_at() - f.clock->now() - 700ms);
        f.pass(1min);
        // SIGTERM comes immediately, or after node_timeout if the nodes hang.
        auto const expected = how_they_fail == fault::unreachable ? lines{"-1200 TERM", "-1200 CONT", "-500 KILL"}
                                                                  : lines{"-1190 TERM", "-1190 CONT", "-500 KILL"};
        f.must_be(false, 1, expected);
    }
}

BOOST_AUTO_TEST_CASE(run_after_a_pause_beyond_sigkill_kills_the_command)
{
    running f;
    f.pause(f.kill_at() - f.clock->now());
    f.must_be(false, 1, {"-500 KILL"});
}

BOOST_AUTO_TEST_CASE(run_without_renewal_after_a_pause_asks_no_node)
{
    running f({.acquire = {.renew = renewal::none}});
    auto const until = f.held.valid_until();
    f.pause(f.kill_at() - f.clock->now() - 700ms);
    f.must_have_heard({"-1200 TERM", "-1200 CONT"});
    BOOST_TEST((f.held.valid_until() == until));
}

BOOST_AUTO_TEST_CASE(run_survives_the_outages_and_pauses_of_the_table_in_cli_md)
{
    std::ifstream file(REDLOCK_SOURCE "/docs/cli.md");
    std::string const text{std::istreambuf_iterator<char>(file), {}};
    for (auto const& [ttl, outage, pause] : table) {
        BOOST_TEST(survives_outage(ttl, outage), ttl.count());
        BOOST_TEST(survives_pause(ttl, pause), ttl.count());
        // The numbers in the table are at most a tenth of the ttl too low.
        BOOST_TEST(!survives_outage(ttl, outage + ttl / 10), ttl.count());
        BOOST_TEST(!survives_pause(ttl, pause + ttl / 10), ttl.count());
        auto const row = fmt::format("| {} s | {:.1f} s | {:.1f} s |", ttl / 1s, outage / 1.0s, pause / 1.0s);
        BOOST_TEST(text.find(row) != text.npos, row);
    }
}

BOOST_AUTO_TEST_CASE(term_of_a_command_that_ends_by_sigterm_sends_no_sigkill)
{
    fixture f;
    f.command.ends_by = SIGTERM;
    f.cut_off();
    f.start();
    f.pass(1min);
    f.must_be(false, 1, {"-1500 TERM", "-1500 CONT"});
    BOOST_TEST((f.ended == f.held.valid_until() - 1500ms));
}

BOOST_AUTO_TEST_CASE(term_of_a_command_that_ends_in_its_grace_sends_no_sigkill)
{
    fixture f;
    f.cut_off();
    f.start();
    f.pass_until(f.held.valid_until() - 1200ms);
    f.command.end();
    f.pass(1min);
    f.must_be(false, 1, {"-1500 TERM", "-1500 CONT"});
    BOOST_TEST((f.ended == f.held.valid_until() - 1200ms));
}

BOOST_AUTO_TEST_CASE(term_sends_sigkill_after_the_grace_even_if_the_lock_is_kept)
{
    fixture f;
    f.cut_off();
    f.start();
    f.pass_until(f.held.valid_until() - 1400ms);
    f.cut_off(fault::none);
    f.pass(1min);
    BOOST_TEST(f.heard_of() == (lines{"TERM", "CONT", "KILL"}), boost::test_tools::per_element());
    BOOST_TEST((f.command.events.back().when - f.command.events.front().when == 1s));
    BOOST_TEST(f.held.held());
    f.must_be(false, 1);
}

BOOST_AUTO_TEST_CASE(term_when_the_key_is_stolen_sends_sigterm_at_the_next_renewal)
{
    running f;
    f.pass(1min);
    f.steal();
    auto const renewed = f.held.valid_until() - 9898ms;  // the ttl minus 1 % and 2 ms
    f.pass(1min);
    BOOST_TEST(f.heard_of() == (lines{"TERM", "CONT", "KILL"}), boost::test_tools::per_element());
    auto const& asked = f.command.events.front().when;
    BOOST_TEST((asked <= renewed + 3400ms));
    BOOST_TEST((f.command.events.back().when == asked + 1s));  // after the grace, even if the validity lasts longer
    BOOST_TEST((f.command.events.back().when < f.held.valid_until()));
    f.must_be(false, 1);
    BOOST_TEST(
        f.said == (lines{"stock is lost; the command is asked to stop", "stock cannot be kept; the command is killed"}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(term_when_the_loss_is_reported_late_sends_sigkill_before_the_end)
{
    running f({.acquire = {.renew = renewal::none}});
    f.pass_until(f.held.valid_until() - 1400ms);
    testing::lose(f.held);
    f.pass(1min);
    f.must_have_heard({"-1500 TERM", "-1500 CONT", "-500 KILL"});
    BOOST_TEST(f.losses == 1);
}

BOOST_AUTO_TEST_CASE(kill_when_renewals_fail_sends_sigkill_before_the_end)
{
    running f({.then = on_lost::kill});
    f.pass(1min);
    f.cut_off();
    f.pass(1min);
    f.must_be(false, 1, {"-500 KILL"});
    f.must_have_said_once("; the command is killed");
}

BOOST_AUTO_TEST_CASE(kill_when_the_key_is_stolen_sends_sigkill_at_the_next_renewal)
{
    running f({.then = on_lost::kill});
    f.pass(1min);
    f.steal();
    auto const renewed = f.held.valid_until() - 9898ms;
    f.pass(1min);
    BOOST_TEST(f.heard_of() == lines{"KILL"}, boost::test_tools::per_element());
    BOOST_TEST((f.command.events.front().when <= renewed + 3400ms));
    BOOST_TEST((f.kept == false));
    BOOST_TEST(f.said == lines{"stock is lost; the command is killed"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(warn_when_renewals_fail_reports_once_and_sends_no_signal)
{
    running f({.then = on_lost::warn});
    f.pass(1min);
    f.cut_off();
    f.pass_until(f.held.valid_until() - 501ms);
    BOOST_TEST(f.losses == 0);
    f.pass(1ms);
    BOOST_TEST(f.losses == 1);
    f.pass(1h);
    f.end();
    f.must_be(true, 1, {});
    f.must_have_said_once("; the command goes on");
}

BOOST_AUTO_TEST_CASE(warn_when_the_key_is_stolen_reports_once_and_sends_no_signal)
{
    running f({.then = on_lost::warn});
    f.pass(1min);
    f.steal();
    f.pass(4s);
    BOOST_TEST(f.losses == 1);
    f.pass(1h);
    BOOST_TEST(!f.kept);
    f.get(SIGUSR1);
    f.end();
    BOOST_TEST(f.heard_of() == lines{fmt::format("forwarded {}", SIGUSR1)}, boost::test_tools::per_element());
    f.must_be(true, 1);
    BOOST_TEST(f.said == lines{"stock is lost; the command goes on"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(warn_with_a_signal_before_the_loss_reports_once)
{
    running f({.then = on_lost::warn, .acquire = {.renew = renewal::none}});
    f.pass_until(f.held.valid_until() - 1s);
    f.get(SIGCHLD);
    f.pass(1h);
    f.must_have_heard({});
    BOOST_TEST(f.losses == 1);
    f.must_have_said_once("; the command goes on");
}

BOOST_AUTO_TEST_CASE(run_of_several_resources_names_all_of_them)
{
    running f({.then = on_lost::kill, .acquire = {.renew = renewal::none}, .resources = {"b", "a"}});
    f.pass(1min);
    f.must_have_said_once("a, b ");
}

BOOST_AUTO_TEST_CASE(run_forwards_each_signal_once_except_sigchld)
{
    running f;
    lines expected;
    for (int const s : {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGTERM}) {
        f.get(s);
        expected.push_back(fmt::format("forwarded {}", s));
    }
    f.get(SIGCHLD);
    f.pass(1h);
    BOOST_TEST(f.heard_of() == expected, boost::test_tools::per_element());
    BOOST_TEST(!f.kept);
}

BOOST_AUTO_TEST_CASE(run_after_sigcont_continues_the_command)
{
    running f;
    f.get(SIGCONT);
    BOOST_TEST(f.heard_of() == lines{"go on"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(run_after_sigcont_does_not_continue_a_killed_command)
{
    fixture f({.then = on_lost::kill});
    f.command.left_behind = 1;
    f.start();
    testing::lose(f.held);
    f.pass(0s);
    f.get(SIGCONT);
    auto const all = f.heard_of();
    BOOST_TEST(!all.empty());
    BOOST_TEST(std::ranges::count(all, "KILL") == std::ssize(all));
}

BOOST_AUTO_TEST_CASE(run_of_a_stopped_command_stops_and_continues_with_it)
{
    for (auto const then : {on_lost::term, on_lost::kill, on_lost::warn}) {
        running f({.then = then});
        f.command.stop();
        f.pass(1min);
        BOOST_TEST(f.heard_of() == (lines{"stop", "go on"}), boost::test_tools::per_element());
        BOOST_TEST(f.held.held());
        f.must_be(std::nullopt, 0);
    }
}

BOOST_AUTO_TEST_CASE(run_of_a_stopped_command_that_lost_the_lock_kills_it)
{
    for (auto const then : {on_lost::term, on_lost::kill}) {
        running f({.then = then});
        f.command.stopped_for = 20s;
        f.command.stop();
        f.pass(1min);
        auto const all = f.heard_of();
        BOOST_TEST_REQUIRE(all.size() >= 2u);
        BOOST_TEST(all.front() == "stop");
        BOOST_TEST(std::ranges::count(all, "KILL") == std::ssize(all) - 1);
        f.must_be(false, 1);
        BOOST_TEST(f.said == lines{"stock was lost while the command was stopped; the command is killed"},
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(warn_of_a_stopped_command_that_lost_the_lock_continues_it)
{
    running f({.then = on_lost::warn});
    f.command.stopped_for = 20s;
    f.command.stop();
    f.pass(1min);
    BOOST_TEST(f.heard_of() == (lines{"stop", "go on"}), boost::test_tools::per_element());
    f.must_be(std::nullopt, 1);
    BOOST_TEST(f.said.size() == 1u);
}

// The end of other processes of the group causes no SIGCHLD if this process is not their parent.
BOOST_AUTO_TEST_CASE(run_keeps_the_lock_until_the_process_group_has_ended)
{
    fixture f;
    f.command.left_behind = 1;
    f.start();
    f.command.end();
    f.pass(1h);
    BOOST_TEST(!f.kept);
    BOOST_TEST(f.held.held());
    f.command.left_behind = 0;
    f.pass(500ms);
    f.must_be(true, 0, {});
}

BOOST_AUTO_TEST_CASE(term_after_the_command_ended_signals_the_rest_of_its_group)
{
    fixture f({.acquire = {.renew = renewal::none}});
    f.command.left_behind = 1;
    f.start();
    f.command.end();
    f.pass_until(f.held.valid_until() - 501ms);
    f.must_have_heard({"-1500 TERM", "-1500 CONT"});
    f.pass(1ms);
    BOOST_TEST(f.heard().back() == "-500 KILL");
}

// SIGKILL is sent again, because a process may have forked a child after the first one.
BOOST_AUTO_TEST_CASE(kill_sends_sigkill_again_until_the_process_group_has_ended)
{
    fixture f({.then = on_lost::kill, .acquire = {.renew = renewal::none}});
    f.command.left_behind = 1;
    f.start();
    f.pass_until(f.held.valid_until() - 450ms);
    auto const all = f.heard();
    for (auto const* const expected : {"-500 KILL", "-480 KILL", "-460 KILL"})
        BOOST_TEST(std::ranges::count(all, expected) > 0, expected);
    f.command.left_behind = 0;
    f.pass(20ms);
    f.must_be(false, 1);
    BOOST_TEST(f.said.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
