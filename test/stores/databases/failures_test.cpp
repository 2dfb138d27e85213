// Databases that die, hang, or lose their tables or settings.

#include "stores/databases/failures.hpp"
#include "support/quarantine.hpp"
#include "support/virtual_clock.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(failures, event_loop, *only_with_server())

BOOST_AUTO_TEST_CASE(acquire_at_a_wrong_port_says_what_was_tried)
{
    auto const port = testbed::free_port();
    lock_manager locks(r.context, on(this_store::url_at(port, "redlock")));
    real_servers::outcome tried;
    auto const says = [&](std::string const& words) { return tried.report.message.find(words) != std::string::npos; };
    BOOST_TEST(r.run_to([&] {
        tried = r.acquire(locks, "stock");
        return says("refused") && says(std::to_string(port)) && says(" attempts)");
    }),
               tried.report.message);
}

BOOST_AUTO_TEST_CASE(extend_after_a_crash_of_a_durable_database_succeeds)
{
    this_store::server s(this_store::durable);
    lock_manager mine(r.context, on(s.url())), others(r.context, on(s.url()));
    auto won = r.acquire(mine, "stock", {.ttl = 60s});
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    s.kill();
    BOOST_TEST(r.extend(won.held, 60s).failed());
    s.start();
    BOOST_TEST(r.run_to([&] {
        auto const tried = r.acquire(others, "stock");
        BOOST_TEST(tried.ec.failed());
        return tried.ec == errc::contended;
    }));
    BOOST_TEST(r.run_to([&] { return !r.extend(won.held, 60s); }));
    BOOST_TEST(!r.release(won.held));
    BOOST_TEST(!r.release(r.acquire(others, "stock", {.ttl = 20s, .wait = 20s}).held));
}

BOOST_AUTO_TEST_CASE(async_wait_lost_with_a_hung_database_completes_before_the_end)
{
    this_store::server s(this_store::quick);
    lock_manager locks(r.context, on(s.url("?timeout=200ms"), {.node_timeout = 200ms}));
    auto held = hold(r, locks, "stock", {.ttl = 3s, .wait = 20s, .renew = renewal::automatic});
    s.pause();
    bool lost = false;
    held.async_wait_lost([&](error_code ec) {
        lost = true;
        BOOST_TEST((ec == errc::lost));
    });
    BOOST_TEST(r.run_to([&] { return lost; }));
    BOOST_TEST((clock::now() <= held.valid_until() || held.valid_until() == clock::time_point()));
    s.resume();
    BOOST_TEST(r.run_to([&] { return !r.acquire(locks, "other").ec; }));
}

BOOST_AUTO_TEST_CASE(acquire_after_the_loss_of_tables_is_quarantined)
{
    this_store::server s(this_store::quick);
    for (auto const* const& loss : this_store::losses) {
        auto const table = fmt::format("t{}", &loss - this_store::losses);
        BOOST_TEST_CONTEXT(loss)
            check_quarantine_after(r, on(s.url("?table=" + table)),
                                   [&] { BOOST_TEST(ask(s, fmt::format(fmt::runtime(loss), table)) == ""); });
    }
}

BOOST_AUTO_TEST_CASE(acquire_after_the_loss_of_the_record_is_quarantined)
{
    this_store::server s(this_store::quick);
    for (std::string const loss : {"DELETE FROM ", "DROP TABLE "}) {
        auto const table = loss.starts_with("DROP") ? "dropped" : "emptied";
        lock_manager locks(r.context, on(s.url(std::string("?table=") + table)));
        BOOST_TEST(!r.release(r.acquire(locks, "stock", {.ttl = 20s, .wait = 20s}).held));
        BOOST_TEST(ask(s, loss + table + "_record") == "");
        wait_for_quarantine(r, locks, "stock", {.ttl = 20s});
    }
}

BOOST_AUTO_TEST_CASE(acquire_after_drop_table_makes_tables_and_is_quarantined)
{
    for (auto const* const drop : this_store::drops) {
        this_store::server s(this_store::quick);
        lock_manager locks(r.context, on(s.url(), {.max_ttl = 60s, .restart_guard = restart_guard::strict}));
        // Waits until the tables are old enough.
        BOOST_TEST(!acquire_after_quarantine(r, locks, "stock", {.ttl = 4s, .wait = 20s}).ec);
        auto const begun = clock::now();
        BOOST_TEST(ask(s, drop) == "");
        wait_for_quarantine(r, locks, "stock", {.ttl = 4s});
        skip_idle_time(r, locks, 30s);
        wait_for_quarantine(r, locks, "stock", {.ttl = 4s});
        BOOST_TEST(!acquire_after_quarantine(r, locks, "stock", {.ttl = 4s, .wait = 20s}).ec);
        BOOST_TEST((clock::now() - begun >= 59s));
    }
}

BOOST_AUTO_TEST_CASE(acquire_after_a_crash_of_a_durable_server_is_granted_at_once)
{
    this_store::server s(this_store::durable);
    auto const settings = on(s.url(), {.restart_guard = restart_guard::automatic});
    lock_manager mine(r.context, settings);
    auto const held = hold(r, mine, "stock", {.ttl = 60s, .wait = 20s});
    s.kill();
    s.start();
    lock_manager late(r.context, settings);
    for (auto* const locks : {&late, &mine}) {
        real_servers::outcome tried;
        BOOST_TEST(r.run_to([&] { return (tried = r.acquire(*locks, "other", {.ttl = 20s})).ec != errc::no_quorum; }));
        BOOST_TEST(!tried.ec, tried.report.message);
        BOOST_TEST(!r.release(tried.held));
        BOOST_TEST((r.acquire(*locks, "stock").ec == errc::contended));
    }
}

BOOST_AUTO_TEST_CASE(acquire_after_durability_was_off_at_a_crash_is_quarantined)
{
    this_store::server s(this_store::durable);
    auto const settings = on(s.url(), {.max_ttl = 5s, .restart_guard = restart_guard::automatic});
    lock_manager mine(r.context, settings);
    BOOST_TEST(!r.release(r.acquire(mine, "stock", {.ttl = 4s, .wait = 20s}).held));
    this_store::stop_flushing(s);
    // As long as a restart would be believed, the server does not vote.
    wait_for_quarantine(r, mine, "stock", {.ttl = 4s});
    BOOST_TEST(r.run_to([&] { return !r.acquire(mine, "stock", {.ttl = 4s}).ec; }));
    s.kill();
    this_store::undo_settings(s);
    auto const restarted = clock::now();
    s.start();
    lock_manager late(r.context, settings);
    for (auto* const locks : {&late, &mine}) {
        real_servers::outcome tried;
        BOOST_TEST(r.run_to([&] {  // the lock before may have survived
            tried = r.acquire(*locks, "stock", {.ttl = 4s});
            return !tried.ec || tried.ec == errc::quarantined;
        }));
        bool const may_be_over = clock::now() - restarted >= 5s;  // on a busy machine
        BOOST_TEST((tried.ec == errc::quarantined || may_be_over), tried.report.message);
    }
    BOOST_TEST(ask(s, this_store::flushes) == this_store::yes);
}

BOOST_AUTO_TEST_CASE(acquire_with_tables_of_an_older_schema_adds_the_record)
{
    this_store::server s(this_store::quick);
    for (auto const& statement : this_store::schema("redlock"))
        ask(s, statement);
    BOOST_TEST(ask(s, this_store::makes_older) == "");
    BOOST_TEST(!ask(s, this_store::older_client_meets).starts_with("error"));
    lock_manager locks(r.context, on(s.url()));
    wait_for_quarantine(r, locks, "stock", {.ttl = 20s});
    BOOST_TEST(!ask(s, this_store::older_client_meets).starts_with("error"));
}

BOOST_AUTO_TEST_CASE(acquire_by_many_managers_at_once_makes_one_set_of_tables)
{
    this_store::server s(this_store::quick);
    std::deque<lock_manager> managers;
    std::vector<real_servers::outcome> outcomes(6);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        managers.emplace_back(r.context, on(s.url("?connections=3&timeout=5s")));
        acquire_options const o{.ttl = 30s, .wait = this_store::first_wait, .explain = true};
        r.start_acquire(outcomes[i], managers.back(), "stock" + std::to_string(i), o);
    }
    BOOST_TEST(r.run_to([&] { return std::ranges::all_of(outcomes, &real_servers::outcome::done); }, 30s));
    for (auto& o : outcomes)
        BOOST_TEST(!o.ec, o.report.message);
    r.run_to([] { return false; }, 500ms);  // until all connections are open
    for (auto& o : outcomes) {
        BOOST_TEST(!r.extend(o.held, 40s));
        BOOST_TEST(!r.release(o.held));
    }
    for (auto& m : managers)
        BOOST_TEST(!r.release(r.acquire(m, "stock", {.ttl = 30s, .wait = 20s}).held));
    BOOST_TEST(ask(s, this_store::sets_of_tables) == "1");
    BOOST_TEST(ask(s, "SELECT began FROM redlock_record") == "F");
}

BOOST_AUTO_TEST_SUITE_END()
