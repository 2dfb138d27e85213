// redlock top, as a program, on real servers.

#include "cli/terminal.hpp"
#include "cli/view/tool.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(top)

namespace {

constexpr char own_screen[] = "\033[?25h\033[?1049l";

}  // namespace

BOOST_FIXTURE_TEST_CASE(top_once_prints_nodes_locks_and_waiters, with_servers<3>)
{
    auto const holder = t.hold({"jobs", "--owner", "web-3:1"});
    auto const reader = t.hold({"report", "--shared"});
    t.set("lock:late", token_of("late"), 1);
    auto const waits = t.start({"hold", "jobs"});
    BOOST_TEST(comes_true([&] { return t[0].ask({"HLEN", "lock:jobs:=wanted:{lock:jobs}"}) == "1"; }));

    auto const told = t.run({"top", "--once", "-o", "json"}).json();
    auto const people = t.run({"top"});  // the output is a pipe, so it runs once

    BOOST_TEST(told.at("schema") == 1);
    BOOST_TEST_REQUIRE(told.at("nodes").as_array().size() == 3u);
    for (auto const& n : told.at("nodes").as_array()) {
        must_have(n.as_object(), {{"up", true}, {"votes", 2}});
        BOOST_TEST(n.at("round_trip_us").as_int64() > 0);
    }
    BOOST_TEST(told.at("locks")
               == (boost::json::value{{"held", 1}, {"shared", 1}, {"foreign", 0}, {"partial", 1}, {"unknown", 0}}));
    BOOST_TEST(told.at("waiting") == 1);
    BOOST_TEST(told.at("first").at(0).at("key") == "jobs", "the lock with waiters must be first");
    BOOST_TEST(told.at("first").at(0).at("waiting") == 1);
    BOOST_TEST(told.at("new_per_second").is_null());
    BOOST_TEST(people.status == 0);
    BOOST_TEST(has(people.out, "locks: 1 held, 1 shared, 0 foreign, 1 partial, 0 unknown; 1 waiting"), people.out);
    BOOST_TEST(has(people.out, "web-3:1"), people.out);
    BOOST_TEST(!has(people.out, "\033"));
}

BOOST_FIXTURE_TEST_CASE(top_with_rows_limits_the_number_of_locks, with_servers<1>)
{
    for (int i = 0; i < 20; ++i)
        t.set("lock:" + std::to_string(i), token_of("web"));

    auto const o = t.run({"top", "--rows", "5"});

    BOOST_TEST(has(o.out, "locks: 20 held"));
    BOOST_TEST(has(o.out, "and 15 more"), o.out);
    BOOST_TEST(t.run({"top", "1*", "-o", "json"}).json().at("first").as_array().size() == 11u);
}

BOOST_FIXTURE_TEST_CASE(top_with_a_majority_down_ends_with_69, held_by_web<3>)
{
    t[2].kill();

    auto const one = t.run({"top"});
    t[1].kill();
    auto const two = t.run({"top"});
    t[0].kill();

    must_show(one, 0, "down: ", "2/3");
    BOOST_TEST(two.status == 69);
    BOOST_TEST(t.run({"top"}).status == 69);
}

BOOST_FIXTURE_TEST_CASE(top_with_a_hanging_node_shows_it_as_down, with_servers<3>)
{
    t[2].pause();
    auto const o = t.run({"top", "--connect-timeout", "1s"});
    t[2].resume();

    must_show(o, 0, t[2].url() + "  down: ");
}

BOOST_FIXTURE_TEST_CASE(top_asks_a_hanging_node_again_at_the_next_snapshot, with_servers<1>)
{
    terminal screen({REDLOCK_TOOL, "top", "--interval", "100ms", "--node-timeout", "1500ms"}, t.environment());
    BOOST_TEST(screen.shows("  up  "));

    t[0].pause();
    BOOST_TEST(screen.shows("  down: "));
    t[0].resume();
    BOOST_TEST(screen.shows("  up  "));

    BOOST_TEST(screen.end_by("q") == 0);
}

BOOST_FIXTURE_TEST_CASE(top_counts_only_the_commands_of_other_clients, with_servers<1>)
{
    t.ask({"EVAL", "for i = 1, 2000 do redis.call('SET', 'lock:' .. i, ARGV[1], 'PX', 3600000) end return 1", "0",
           token_of("web")});
    terminal screen({REDLOCK_TOOL, "top", "--interval", "100ms"}, t.environment());
    BOOST_TEST(screen.shows("2000/2000  -"));  // the first snapshot has no previous one to compare with

    BOOST_TEST(screen.shows("2000/2000  0.0/s"));
    t.ask({"EVAL", "for i = 1, 2000 do redis.call('GET', 'lock:' .. i) end return 1", "0"});
    BOOST_TEST(screen.shows(std::regex("2000/2000  [1-9]")));

    BOOST_TEST(screen.end_by("q") == 0);
}

BOOST_FIXTURE_TEST_CASE(top_on_a_terminal_redraws_until_q, with_servers<1>)
{
    terminal screen({REDLOCK_TOOL, "top", "--interval", "100ms"}, t.environment());
    BOOST_TEST(screen.shows("locks: 0 held"));

    t.set("lock:late comer", token_of("web"));
    BOOST_TEST(screen.shows("late comer"));
    BOOST_TEST(screen.shows("0.0/s new"), screen.shown);
    BOOST_TEST(screen.end_by("xq") == 0);
    BOOST_TEST(screen.shown.ends_with(own_screen), "the terminal is not restored");
    BOOST_TEST(!has(screen.shown, "\033[2J"), "the screen must not be cleared: it would flicker");
}

BOOST_FIXTURE_TEST_CASE(top_after_a_signal_restores_the_terminal, with_servers<1>)
{
    for (auto const& [number, status] : {std::pair(0, 0), std::pair(SIGTERM, 128 + SIGTERM),
                                         std::pair(SIGHUP, 128 + SIGHUP), std::pair(SIGQUIT, 128 + SIGQUIT)}) {
        terminal screen({REDLOCK_TOOL, "top"}, t.environment());
        BOOST_TEST(screen.shows("locks: "));
        if (number == 0)
            screen.type("\x03");  // Ctrl-C
        else
            screen.signal(number);
        BOOST_TEST(screen.wait() == status);
        BOOST_TEST(screen.shown.ends_with(own_screen));
    }
}

BOOST_FIXTURE_TEST_CASE(top_on_a_hanging_server_ends_immediately_after_q, with_servers<1>)
{
    terminal screen({REDLOCK_TOOL, "top", "--interval", "100ms", "--connect-timeout", "60s"}, t.environment());
    BOOST_TEST(screen.shows("locks: "));
    t[0].pause();
    screen.forget();

    BOOST_TEST(screen.end_by("q") == 0);
    t[0].resume();
}

BOOST_FIXTURE_TEST_CASE(top_on_a_small_terminal_cuts_lines, with_servers<1>)
{
    for (int i = 0; i < 20; ++i)
        t.set("lock:" + std::to_string(i), token_of(std::string(100, 'w')));
    terminal screen({REDLOCK_TOOL, "top", "--interval", "60s"}, t.environment(), 8, 30);
    BOOST_TEST(screen.shows("\033[J"));
    auto const drawn = screen.shown.substr(screen.shown.find("\033[H"));

    BOOST_TEST(std::count(drawn.begin(), drawn.end(), '\n') == 7);
    BOOST_TEST(!has(drawn, std::string(31, 'w')));
    screen.forget();
    screen.resize(24, 100);
    BOOST_TEST(screen.shows("WAITING"));
    BOOST_TEST(screen.end_by("q") == 0);
}

BOOST_FIXTURE_TEST_CASE(top_when_stopped_restores_the_terminal_until_sigcont, with_servers<1>)
{
    terminal screen({REDLOCK_TOOL, "top", "--interval", "60s"}, t.environment());
    BOOST_TEST(screen.shows("locks: "));
    screen.forget();

    screen.signal(SIGTSTP);
    BOOST_TEST(screen.shows(own_screen));
    BOOST_TEST(screen.stops());
    screen.forget();
    screen.signal(SIGCONT);

    BOOST_TEST(screen.shows("locks: "));
    BOOST_TEST(screen.end_by("q") == 0);
}

BOOST_AUTO_TEST_SUITE_END()
