#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(restarted_nodes)

namespace {

void age(lock_world& w, clock::duration by)
{
    w.each([&](auto& s) { s.be_new(w.now - by); });
}

template <std::size_t Servers>
struct old_and_connected {
    old_and_connected()
    {
        age(w, 1h);
        locks = w.connected();
    }

    lock_world w{Servers};
    std::unique_ptr<lock_manager> locks;
};

// Manager `a` holds "stock" on servers 0 and 1. Manager `b` has connected to both, and has not seen server 2 yet. Then
// both servers restart and forget the lock.
struct forgotten_lock {
    explicit forgotten_lock(manager_options settings = {})
    {
        age(w, 1h);
        a = w.manager();
        b = w.manager(std::move(settings));
        w[2].reachable = false;
        held = w.acquire(*a, "stock", {.ttl = 60s}).held;
        BOOST_TEST(held.held());
        w.acquire(*b, "other");
        w[2].reachable = true;
        w[0].restart();
        w[1].restart();
    }

    lock_world w{3};
    std::unique_ptr<lock_manager> a, b;
    lock held;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(acquire_from_nodes_that_forgot_the_lock_returns_quarantined, forgotten_lock)
{
    auto refused = w.acquire(*b, "stock");
    BOOST_TEST((refused.ec == errc::quarantined));
    BOOST_TEST(held.held());
    BOOST_TEST((refused.report.quarantine > 59s && refused.report.quarantine <= 60s));
    BOOST_TEST(refused.report.message.find("a majority votes again in") != std::string::npos);
    BOOST_TEST((refused.report.nodes[1].error == errc::quarantined));
    BOOST_TEST((refused.report.nodes[1].vote == vote::unknown));
    auto const stats = b->stats();
    BOOST_TEST(stats.quarantined == 1u);
    BOOST_TEST((stats.nodes[1].quarantine > 59s));
    BOOST_TEST((stats.nodes[2].quarantine == 0s));
    w.run_for(1s);
    BOOST_TEST(w[1].find("lock:stock") == nullptr);

    w.run_for(61s);
    BOOST_TEST(!held.held());
    BOOST_TEST(w.acquire(*b, "stock").held.held());
}

BOOST_AUTO_TEST_CASE(acquire_from_a_node_that_answers_quarantined_returns_quarantined)
{
    lock_world w(1);
    auto const locks = w.connected();
    w[0].refusal = errc::quarantined;

    auto const refused = w.acquire(*locks, "stock");

    BOOST_TEST((refused.ec == errc::quarantined));
    BOOST_TEST((refused.report.nodes[0].error == errc::quarantined));
    BOOST_TEST(locks->stats().quarantined == 1u);
    w[0].refusal = {};
    BOOST_TEST(w.acquire(*locks, "stock").held.held());
}

BOOST_AUTO_TEST_CASE(restart_guard_off_lets_two_clients_hold_the_lock)
{
    forgotten_lock f({.restart_guard = restart_guard::off});
    BOOST_TEST(f.w.acquire(*f.b, "stock").held.held());
    BOOST_TEST(f.held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_from_restarted_durable_nodes_succeeds_at_once, old_and_connected<3>)
{
    for (auto& s : w.servers) {
        ++s->connection;
        s->identity = {.durable = true, .restarted = true, .began = w.now};
    }
    BOOST_TEST(w.acquire(*locks, "stock").held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_with_two_of_five_nodes_in_quarantine_succeeds, old_and_connected<5>)
{
    w[0].restart();
    w[3].restart();
    auto won = w.acquire(*locks, "stock");
    BOOST_TEST(won.held.held());
    BOOST_TEST(w.keys_after(1ms) == 5u);  // nodes in quarantine get the key, too
    BOOST_TEST(!w.release(won.held));
    BOOST_TEST(w.keys_after(1ms) == 0u);
}

BOOST_AUTO_TEST_CASE(acquire_from_new_nodes_founds_them_and_logs_it)
{
    lock_world w(3);
    age(w, 3s);
    std::vector<std::string> lines;
    auto locks = w.manager({.log = [&](log_level, std::string_view line) { lines.emplace_back(line); }});
    BOOST_TEST(w.acquire(*locks, "stock").held.held());
    BOOST_TEST(locks->stats().founded);
    BOOST_TEST(lines.size() == 1u);
    BOOST_TEST(lines[0].find("new to the prefix lock:, and were founded") != std::string::npos);
    w.each([](auto& s) { BOOST_TEST(s.count(node_command::kind::found) == 1u); });
    BOOST_TEST(w.acquire(*locks, "another").held.held());
    w.each([](auto& s) { BOOST_TEST(s.count(node_command::kind::found) == 1u); });
}

BOOST_AUTO_TEST_CASE(acquire_from_new_nodes_by_two_managers_at_once_succeeds)
{
    lock_world w(3);
    age(w, 3s);
    auto const a = w.manager(), b = w.manager();
    auto const of_a = w.start(*a, "stock"), of_b = w.start(*b, "another");
    w.run_for(1s);
    BOOST_TEST(of_a.held.held());
    BOOST_TEST(of_b.held.held());
}

BOOST_AUTO_TEST_CASE(acquire_while_another_manager_founds_the_set_waits_for_it)
{
    lock_world w(3);
    age(w, 10ms);
    w[0].be_founded();  // the other manager has reached this server first
    auto const late = w.manager();
    w.at(w.now + 30ms, [&] { w.each([](auto& s) { s.be_founded(); }); });
    BOOST_TEST(w.acquire(*late, "stock").held.held());
    w.each([](auto& s) { BOOST_TEST(s.count(node_command::kind::found) == 0u); });
}

BOOST_AUTO_TEST_CASE(acquire_after_the_founder_has_died_amid_founding_is_quarantined)
{
    lock_world w(3);
    age(w, 10ms);
    w[0].be_founded();
    auto const late = w.manager();
    auto const begun = w.now;
    BOOST_TEST((w.acquire(*late, "stock").ec == errc::quarantined));
    BOOST_TEST((w.now - begun < 200ms));
    BOOST_TEST((w.acquire(*late, "stock", {.wait = wait_forever}).held.held()));
    BOOST_TEST((w.now - begun < 61s));
}

BOOST_AUTO_TEST_CASE(acquire_from_new_nodes_with_one_that_restarted_is_quarantined)
{
    for (bool const is_old : {false, true}) {
        lock_world w(3);
        age(w, 3s);
        w[1].identity = {.durable = false, .restarted = true, .began = w.now - (is_old ? 1h : 1s)};
        auto const locks = w.manager();
        BOOST_TEST((w.acquire(*locks, "stock").ec == errc::quarantined));
        w.each([](auto& s) { BOOST_TEST(s.count(node_command::kind::found) == 0u); });
    }
}

BOOST_AUTO_TEST_CASE(acquire_beside_a_new_node_that_has_voted_by_age_is_quarantined)
{
    lock_world w(3);
    age(w, 3s);
    w[1].identity.began = w.now - 2min;  // the set was never founded; server 2 has been emptied since
    auto const locks = w.manager();
    BOOST_TEST((w.acquire(*locks, "stock").ec == errc::quarantined));
}

namespace {

/// A manager has heard of two servers that they are new, and cannot reach the third one. Meanwhile another manager
/// founds the set, and acquires "stock" on the last two servers. Then the third server loses its keys, and looks new.
struct founded_meanwhile {
    explicit founded_meanwhile(restart_guard guard)
    {
        age(w, 3s);
        late = w.manager({.restart_guard = guard});
        w[2].reachable = false;
        BOOST_TEST((w.acquire(*late, "stock").ec == errc::quarantined));
        w.each([](auto& s) { s.learners.clear(); });  // `late` does not ask again before the end of all this
        w[2].reachable = true;
        founder = w.manager();
        BOOST_TEST(w.acquire(*founder, "warm-up").held.held());
        w[0].reachable = false;
        held = w.acquire(*founder, "stock", {.ttl = 50s, .renew = renewal::none}).held;
        BOOST_TEST(held.held());
        w[0].reachable = true;
        w[2].restart();
        w[2].be_new(w.now);
    }

    lock_world w{3};
    std::unique_ptr<lock_manager> late, founder;
    lock held;
};

}  // namespace

BOOST_AUTO_TEST_CASE(acquire_after_another_manager_has_founded_the_set_founds_nothing)
{
    founded_meanwhile f(restart_guard::automatic);
    auto const refused = f.w.start(*f.late, "stock", {.wait = 30s});
    f.w.run_for(29s);
    BOOST_TEST(f.held.held());
    BOOST_TEST(!refused.held.held());
    BOOST_TEST(!f.w[2].identity.founded);
    BOOST_TEST(!f.late->stats().founded);
}

BOOST_AUTO_TEST_CASE(found_after_another_manager_has_founded_the_set_founds_nothing)
{
    founded_meanwhile f(restart_guard::strict);
    std::optional<error_code> ended;
    f.late->async_found([&](error_code ec, attempt_report const&) { ended = ec; });
    f.w.run_to([&] { return ended.has_value(); });
    BOOST_TEST((ended == errc::quarantined));
    BOOST_TEST(!f.w[2].identity.founded);
    BOOST_TEST(!f.w.acquire(*f.late, "stock").held.held());
    BOOST_TEST(f.held.held());
}

// The server that says nothing when it is asked again may be one that another manager has founded.
BOOST_AUTO_TEST_CASE(acquire_with_a_node_away_when_all_are_asked_again_founds_later)
{
    lock_world w(3);
    age(w, 3s);
    auto const locks = w.manager();
    w[2].connecting = true;
    auto won = w.start(*locks, "stock", {.wait = 30s});
    w.run_for(5ms);
    w[0].reachable = false;
    w[2].connecting = false;
    w.run_for(100ms);
    w.each([](auto& s) { BOOST_TEST(!s.identity.founded); });
    w[0].reachable = true;
    w.run_for(2s);
    BOOST_TEST(won.held.held());
    w.each([](auto& s) { BOOST_TEST(s.identity.founded); });
}

// All servers of an old set lose their keys, one of them first. A manager that stays has seen that.
BOOST_AUTO_TEST_CASE(acquire_by_a_newcomer_after_all_nodes_lost_their_keys_in_turn_fails)
{
    for (auto const guard : {restart_guard::automatic, restart_guard::strict}) {
        for (bool const is_met_anew : {false, true}) {
            lock_world w(3);
            age(w, 3s);
            auto const founder = w.manager();
            w.acquire(*founder, "warm-up");
            w.run_for(1min);
            auto stays = is_met_anew ? nullptr : w.connected({.restart_guard = guard});
            w[0].restart();
            w[0].be_new(w.now);
            if (is_met_anew)  // this manager has not known the server before
                stays = w.manager({.restart_guard = guard});
            auto const held = w.acquire(*stays, "stock", {.ttl = 50s, .renew = renewal::none}).held;
            BOOST_TEST(held.held());
            w.run_for(20s);
            for (std::size_t i : {1, 2}) {
                w[i].restart();
                w[i].be_new(w.now);
            }
            auto const newcomer = w.manager();
            BOOST_TEST(!w.acquire(*newcomer, "stock").held.held());
            BOOST_TEST(held.held());
        }
    }
}

// Another manager has founded two servers of a new set. It founds the third one within the time that a founding may
// take.
BOOST_AUTO_TEST_CASE(acquire_amid_a_slow_founding_leaves_the_last_node_new)
{
    lock_world w(3);
    age(w, 3s);
    w[0].be_founded();
    w[1].be_founded();
    auto const locks = w.manager();
    BOOST_TEST(w.acquire(*locks, "stock").held.held());
    w.run_for(1900ms);
    BOOST_TEST(w[2].identity.fresh);
    w.run_for(200ms);
    BOOST_TEST(!w[2].identity.fresh);
}

BOOST_AUTO_TEST_CASE(acquire_after_the_log_was_switched_off_waits_for_the_signature)
{
    lock_world w(1);
    age(w, 1h);
    auto const locks = w.connected();
    w[0].identity.waits_until = w.now + 20s;
    w[0].tell_identity();
    BOOST_TEST((w.acquire(*locks, "stock").ec == errc::quarantined));
    w.run_for(20s);
    BOOST_TEST(w.acquire(*locks, "stock").held.held());
}

// All three servers have granted a lock. Two of them restart, one after the other. A manager that starts now has not
// seen that.
struct rolling_restart {
    rolling_restart()
    {
        age(w, 1h);
        a = w.manager();
        held = w.acquire(*a, "stock", {.ttl = 60s}).held;
        BOOST_TEST(held.held());
        for (std::size_t i : {0, 1}) {
            w.run_for(5s);
            w[i].restart();
            w[i].be_new(w.now);
        }
        w.run_for(1s);
    }

    lock_world w{3};
    std::unique_ptr<lock_manager> a;
    lock held;
};

BOOST_FIXTURE_TEST_CASE(acquire_by_a_newcomer_amid_a_rolling_restart_is_refused, rolling_restart)
{
    auto const newcomer = w.manager();
    auto const refused = w.acquire(*newcomer, "stock");
    BOOST_TEST((refused.ec == errc::quarantined));
    BOOST_TEST(held.held());
    BOOST_TEST(!newcomer->stats().founded);
    BOOST_TEST((w.acquire(*newcomer, "another").ec == errc::quarantined));
}

BOOST_AUTO_TEST_CASE(acquire_by_a_newcomer_waits_for_nodes_that_may_be_old)
{
    for (bool const after_a_cancelled_one : {false, true}) {
        rolling_restart f;
        f.w[2].connecting = true;
        f.w.at(f.w.now + 20ms, [&] { f.w[2].connecting = false; });
        auto const newcomer = f.w.manager();
        if (after_a_cancelled_one) {
            asio::cancellation_signal cancel;
            auto const first = f.w.start(*newcomer, "another", {}, cancel.slot());
            f.w.run_for(5ms);
            cancel.emit(asio::cancellation_type::terminal);
            f.w.run_for(1ms);
            BOOST_TEST((first.ec == asio::error::operation_aborted));
        }
        BOOST_TEST((f.w.acquire(*newcomer, "stock").ec == errc::quarantined));
        BOOST_TEST(f.held.held());
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_while_the_old_node_is_away_is_refused, rolling_restart)
{
    w[2].reachable = false;
    auto const newcomer = w.manager();
    BOOST_TEST((w.acquire(*newcomer, "another").ec == errc::quarantined));  // it knows only new nodes, but not all
    w[2].reachable = true;
    w.acquire(*newcomer, "a third");
    BOOST_TEST((w.acquire(*newcomer, "stock").ec == errc::quarantined));
    BOOST_TEST((newcomer->stats().nodes[0].quarantine > 50s));
    BOOST_TEST(held.held());
}

BOOST_AUTO_TEST_CASE(acquire_on_a_new_set_with_a_node_that_hangs_waits_for_it)
{
    lock_world w(3);
    age(w, 3s);
    w[2].connecting = true;
    auto const locks = w.manager();
    auto const begun = w.now;
    BOOST_TEST((w.acquire(*locks, "stock").ec == errc::quarantined));
    BOOST_TEST((w.now - begun <= manager_options().connect_timeout + 2 * manager_options().node_timeout + 5ms));
    w[2].connecting = false;
    BOOST_TEST(w.acquire(*locks, "stock", {.wait = 1s}).held.held());
}

BOOST_AUTO_TEST_CASE(restart_guard_strict_puts_newly_started_nodes_in_quarantine)
{
    lock_world w(3);
    age(w, 3s);
    auto locks = w.manager({.restart_guard = restart_guard::strict});
    BOOST_TEST((w.acquire(*locks, "stock").ec == errc::quarantined));
    BOOST_TEST(!locks->stats().founded);
    w.run_for(57s);
    BOOST_TEST(w.acquire(*locks, "stock").held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_by_a_newcomer_puts_one_young_node_in_quarantine, manager_of<3>)
{
    age(w, 1h);
    w[0].identity.began = w.now - 1s;
    w[1].reachable = false;
    BOOST_TEST((w.acquire(*locks, "stock").ec == errc::quarantined));
    w.run_for(1s);
    w[1].reachable = true;
    BOOST_TEST(w.acquire(*locks, "stock").held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_with_wait_succeeds_when_the_quarantine_is_over, old_and_connected<1>)
{
    w[0].restart();
    auto const begun = w.now;
    auto won = w.acquire(*locks, "stock", {.wait = wait_forever});
    BOOST_TEST(won.held.held());
    BOOST_TEST((w.now >= begun + 60s));
    BOOST_TEST((w.now < begun + 61s));
    BOOST_TEST(locks->stats().rounds < 5u);
}

BOOST_FIXTURE_TEST_CASE(attempt_report_with_a_node_down_states_no_end_of_quarantine, old_and_connected<5>)
{
    w[0].restart();
    w[1].restart();
    w[2].reachable = false;  // three nodes are trusted, but one of them is down
    auto const refused = w.acquire(*locks, "stock");
    BOOST_TEST((refused.ec == errc::quarantined));
    BOOST_TEST((refused.report.quarantine == 0ms));
}

BOOST_FIXTURE_TEST_CASE(acquire_after_a_mere_reconnection_succeeds, manager_of<3>)
{
    age(w, 50s);
    w[2].identity.began = w.now - 20s;
    BOOST_TEST(w.acquire(*locks, "warm-up").held.held());
    w.run_for(15s);  // the manager has founded the servers
    ++w[2].connection;
    w[0].reachable = false;
    BOOST_TEST(w.acquire(*locks, "stock").held.held());
}

BOOST_AUTO_TEST_CASE(acquire_denied_by_a_node_in_quarantine_returns_contended)
{
    lock_world w(3);
    age(w, 1h);
    auto a = w.manager();
    auto b = w.connected();
    w[0].restart();
    auto held = w.acquire(*a, "stock");
    w.run_for(1ms);
    w[2].reachable = false;
    BOOST_TEST((w.acquire(*b, "stock").ec == errc::contended));
}

BOOST_AUTO_TEST_SUITE_END()
