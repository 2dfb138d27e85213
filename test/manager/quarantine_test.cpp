#include "support/virtual_world.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(restarted_nodes)

namespace {

void age(lock_world& w, clock::duration by, bool durable = false)
{
    for (auto& s : w.servers)
        s->identity = {.durable = durable, .began = w.now - by};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_node_that_has_forgotten_a_lock_does_not_grant_it_again)
{
    lock_world w(3);
    age(w, 1h);
    auto a = w.manager();
    auto b = w.manager();
    w[2].reachable = false;
    auto held = w.acquire(*a, "stock", {.ttl = 60s});
    BOOST_TEST(held.held.held());
    w.acquire(*b, "other");
    w[2].reachable = true;
    w[0].restart();
    w[1].restart();

    attempt_report report;
    auto refused = w.acquire(*b, "stock", {.report = &report});
    BOOST_TEST((refused.ec == errc::quarantined));
    BOOST_TEST(held.held.held());
    BOOST_TEST((report.quarantine > 59s && report.quarantine <= 60s));
    BOOST_TEST(report.message.find("a majority votes again in") != std::string::npos);
    BOOST_TEST((report.nodes[1].error == errc::quarantined));
    BOOST_TEST((report.nodes[1].vote == vote::unknown));
    auto const stats = b->stats();
    BOOST_TEST(stats.quarantined == 1u);
    BOOST_TEST((stats.nodes[1].quarantine > 59s));
    BOOST_TEST((stats.nodes[2].quarantine == 0s));
    w.run_for(1s);
    BOOST_TEST(w[1].find("lock:stock") == nullptr);

    w.run_for(61s);
    BOOST_TEST(!held.held.held());
    BOOST_TEST(w.acquire(*b, "stock").held.held());
}

BOOST_AUTO_TEST_CASE(with_the_guard_off_two_hold_it)
{
    lock_world w(3);
    age(w, 1h);
    auto a = w.manager();
    auto b = w.manager({.restart_guard = restart_guard::off});
    w[2].reachable = false;
    auto held = w.acquire(*a, "stock", {.ttl = 60s});
    w.acquire(*b, "other");
    w[2].reachable = true;
    w[0].restart();
    w[1].restart();
    BOOST_TEST(w.acquire(*b, "stock").held.held());
    BOOST_TEST(held.held.held());
}

BOOST_AUTO_TEST_CASE(a_durable_node_votes_at_once)
{
    lock_world w(3);
    age(w, 1h);
    auto locks = w.manager();
    w.acquire(*locks, "warm-up");
    for (auto& s : w.servers) {
        ++s->connection;
        s->identity = {.durable = true, .restarted = true, .began = w.now};
    }
    BOOST_TEST(w.acquire(*locks, "stock").held.held());
}

BOOST_AUTO_TEST_CASE(a_minority_in_quarantine_does_no_harm)
{
    lock_world w(5);
    age(w, 1h);
    auto locks = w.manager();
    w.acquire(*locks, "warm-up");
    w[0].restart();
    w[3].restart();
    auto won = w.acquire(*locks, "stock");
    BOOST_TEST(won.held.held());
    w.run_for(1ms);
    BOOST_TEST(w.keys("lock:stock") == 5u);  // it may be written to
    BOOST_TEST(!w.release(won.held));
    w.run_for(1ms);
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_AUTO_TEST_CASE(a_newly_started_set_works_at_once_and_says_so)
{
    lock_world w(3);
    age(w, 3s);
    std::vector<std::string> lines;
    auto locks = w.manager({.log = [&](log_level, std::string_view line) { lines.emplace_back(line); }});
    BOOST_TEST(w.acquire(*locks, "stock").held.held());
    BOOST_TEST(locks->stats().taken_for_new);
    BOOST_TEST(lines.size() == 1u);
    BOOST_TEST(lines[0].find("newly started") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(strict_does_not_believe_in_newly_started_sets)
{
    lock_world w(3);
    age(w, 3s);
    auto locks = w.manager({.restart_guard = restart_guard::strict});
    BOOST_TEST((w.acquire(*locks, "stock").ec == errc::quarantined));
    BOOST_TEST(!locks->stats().taken_for_new);
    w.run_for(57s);
    BOOST_TEST(w.acquire(*locks, "stock").held.held());
}

BOOST_AUTO_TEST_CASE(one_young_node_of_three_waits_for_a_program_that_has_just_begun_too)
{
    lock_world w(3);
    age(w, 1h);
    w[0].identity.began = w.now - 1s;
    auto locks = w.manager();
    w[1].reachable = false;
    BOOST_TEST((w.acquire(*locks, "stock").ec == errc::quarantined));
    w.run_for(1s);
    w[1].reachable = true;
    BOOST_TEST(w.acquire(*locks, "stock").held.held());
}

BOOST_AUTO_TEST_CASE(who_waits_gets_in_when_the_quarantine_is_over)
{
    lock_world w(1);
    age(w, 1h);
    auto locks = w.manager();
    w.acquire(*locks, "warm-up");
    w[0].restart();
    auto const begun = w.now;
    auto won = w.acquire(*locks, "stock", {.wait = wait_forever});
    BOOST_TEST(won.held.held());
    BOOST_TEST((w.now >= begun + 60s));
    BOOST_TEST((w.now < begun + 61s));
    BOOST_TEST(locks->stats().rounds < 5u);
}

BOOST_AUTO_TEST_CASE(where_it_is_not_the_quarantine_alone_nothing_is_said_of_its_end)
{
    lock_world w(5);
    age(w, 1h);
    auto locks = w.manager();
    w.acquire(*locks, "warm-up");
    w[0].restart();
    w[1].restart();
    w[2].reachable = false;  // three are well, but one of them is away
    attempt_report report;
    BOOST_TEST((w.acquire(*locks, "stock", {.report = &report}).ec == errc::quarantined));
    BOOST_TEST((report.quarantine == 0ms));
}

BOOST_AUTO_TEST_CASE(a_mere_reconnection_changes_nothing)
{
    lock_world w(3);
    age(w, 50s);
    w[2].identity.began = w.now - 20s;
    auto locks = w.manager();
    BOOST_TEST(w.acquire(*locks, "warm-up").held.held());
    w.run_for(15s);  // two of the three are no longer young; the third was taken for newly started like them
    ++w[2].connection;
    w[0].reachable = false;
    BOOST_TEST(w.acquire(*locks, "stock").held.held());
}

BOOST_AUTO_TEST_CASE(a_denial_of_a_node_in_quarantine_is_believed)
{
    lock_world w(3);
    age(w, 1h);
    auto a = w.manager();
    auto b = w.manager();
    w.acquire(*b, "warm-up");
    w[0].restart();
    auto held = w.acquire(*a, "stock");
    w.run_for(1ms);
    w[2].reachable = false;
    BOOST_TEST((w.acquire(*b, "stock").ec == errc::contended));
}

BOOST_AUTO_TEST_SUITE_END()
