// Tests which commands a node sends to its server, and which it does not send, with a fake server.

#include "support/fake_redis.hpp"
#include "support/real_servers.hpp"
#include "support/virtual_clock.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(transport)

namespace {

/// One fake server, and an event loop.
struct one_server : real_servers {
    one_server() : real_servers(0) {}

    manager_options settings(manager_options special = {.node_timeout = 250ms}) const
    {
        special.nodes = {server.url()};
        return special;
    }

    bool is_connected(lock_manager const& locks) const { return locks.stats().nodes[0].connected; }

    fake_redis server{context};
};

/// The fake server, and two memory servers that answer at once. So a lock does not need the fake server.
struct one_of_three : one_server {
    manager_options settings(manager_options special = {.node_timeout = 250ms}) const
    {
        special.nodes = {server.url(), "memory://second", "memory://third"};
        return special;
    }

    /// Lets the server continue, and waits until a later command has reached it.
    void catch_up(lock_manager& locks)
    {
        server.resume();
        BOOST_TEST(run_to([&] { return is_connected(locks); }));
        BOOST_TEST(run_to([&] {
            release(acquire(locks, "later").held);
            return server.count({"SET", "lock:later"}) > 0;
        }));
    }
};

template <class Servers>
struct manager_with {
    Servers r;
    lock_manager locks{r.context, r.settings()};

    void teardown() { r.shutdown(locks); }
};

}  // namespace

// Rule 8 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(acquire_with_a_lost_reply_is_released_and_not_sent_again, manager_with<one_server>)
{
    r.connect(locks);
    r.server.commands.clear();
    r.server.answer = [hung_up = false](auto& c) mutable {
        return c[0] == "SET" && !std::exchange(hung_up, true) ? std::optional<std::string>(fake_redis::hang_up)
                                                              : std::nullopt;
    };

    auto const lost = r.acquire(locks, "stock", {.ttl = 5s});

    BOOST_TEST((lost.ec == errc::no_quorum));
    BOOST_TEST(r.run_to([&] { return locks.stats().cleaning == 0; }));
    BOOST_TEST(r.server.count({"SET", "lock:stock"}) == 1u);
    BOOST_TEST(r.server.count({"EVALSHA", std::string(stores::redis::release_script.sha1), "1", "lock:stock"}) == 1u);
}

BOOST_AUTO_TEST_CASE(acquire_released_before_it_was_sent_is_not_sent)
{
    one_of_three r;
    lock_manager locks(r.context, r.settings({.node_timeout = 5s}));  // long: only the release prevents the sending
    r.server.stop_answering();

    auto won = r.acquire(locks, "stock");
    BOOST_TEST(!won.ec);
    BOOST_TEST(!r.release(won.held));
    r.catch_up(locks);

    BOOST_TEST(r.server.count({"SET", "lock:stock"}) == 0u);
    r.shutdown(locks);
}

BOOST_FIXTURE_TEST_CASE(acquire_not_sent_within_node_timeout_is_not_sent_later, manager_with<one_of_three>)
{
    r.server.stop_answering();

    auto won = r.acquire(locks, "stock");
    BOOST_TEST(!won.ec);
    auto const too_late = clock::now() + r.settings().node_timeout;
    BOOST_TEST(r.run_to([&] { return clock::now() > too_late; }));
    r.catch_up(locks);

    BOOST_TEST(won.held.held());
    BOOST_TEST(r.server.count({"SET", "lock:stock"}) == 0u);
}

BOOST_FIXTURE_TEST_CASE(outbox_of_a_silent_server_sends_nothing_more, manager_with<one_of_three>)
{
    r.release(r.acquire(locks, "warm-up").held);
    BOOST_TEST(r.run_to([&] { return r.is_connected(locks); }));
    r.server.stop_answering();

    auto first = r.acquire(locks, "first");
    auto const silent = clock::now() + r.settings().node_timeout;
    BOOST_TEST(r.run_to([&] { return clock::now() > silent; }));
    BOOST_TEST(!r.release(r.acquire(locks, "second").held));
    r.catch_up(locks);

    BOOST_TEST(r.server.count({"SET", "lock:second"}) == 0u);
}

// The server lost its scripts, so it refuses the renewal. The release needs no script.
BOOST_AUTO_TEST_CASE(renewal_refused_with_noscript_is_not_sent_again_after_release)
{
    one_server r;
    r.server.native_deletions = {"delifeq"};
    ending_manager locks(r, r.settings({.node_timeout = 1s}));
    auto won = r.acquire(locks, "stock", {.ttl = 1500ms, .renew = renewal::automatic});
    BOOST_TEST_REQUIRE(!won.ec);
    auto const renewals = [&] {
        return r.server.count({"EVALSHA", std::string(stores::redis::extend_script.sha1), "2", "lock:stock"});
    };
    r.server.stop_answering();
    auto const renewed = clock::now() + 700ms;
    BOOST_TEST(r.run_to([&] { return clock::now() > renewed; }));
    won.held.async_release([](error_code) {});
    auto const released = clock::now() + 50ms;
    BOOST_TEST(r.run_to([&] { return clock::now() > released; }));

    r.server.answer = [](auto& c) {
        return c[0] == "EVALSHA" ? std::optional<std::string>("-NOSCRIPT No matching script.\r\n") : std::nullopt;
    };
    r.server.resume();

    BOOST_TEST(r.run_to([&] { return locks.stats().cleaning == 0; }));
    BOOST_TEST(r.server.count({"DELIFEQ", "lock:stock"}) >= 1u);
    BOOST_TEST(renewals() == 1u);
}

BOOST_FIXTURE_TEST_CASE(connection_after_a_malformed_reply_is_reset, manager_with<one_server>)
{
    r.connect(locks);
    r.server.answer = [](auto& c) { return c[0] == "SET" ? std::optional<std::string>("nonsense\r\n") : std::nullopt; };

    r.acquire(locks, "stock");

    BOOST_TEST(r.run_to([&] { return r.server.ended == 1; }));
    BOOST_TEST(r.server.reset == 1);  // a close would still send the bytes in the buffers
}

// Rule 13 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(acquire_on_a_server_with_role_slave_gets_no_vote, manager_with<one_server>)
{
    r.server.role = "slave";

    auto const refused = r.acquire(locks, "stock");

    BOOST_TEST((refused.ec == errc::no_quorum));
    BOOST_TEST((refused.report.nodes[0].error == errc::node_read_only));
    BOOST_TEST(r.server.count({"SET", "lock:stock"}) == 0u);
}

// While the server loads, it reports no log. If the manager believed that, the server would not vote for max_ttl.
BOOST_AUTO_TEST_CASE(acquire_on_a_loading_server_succeeds_after_loading)
{
    one_server r;
    ending_manager locks(r, r.settings({.node_timeout = busy_timeout}));
    r.release(r.acquire(locks, "stock", {.wait = 10s}).held);
    auto const good =
        std::exchange(r.server.persistence, "loading:1\r\naof_enabled:0\r\naof_rewrite_in_progress:0\r\n");
    r.server.run_id = std::string(40, 'a');  // simulates a restart
    auto const before = r.server.connections;
    r.server.hang_up_all();

    BOOST_TEST(r.run_to([&] { return r.server.connections > before + 1; }));
    BOOST_TEST((r.acquire(locks, "stock").report.nodes[0].error == errc::node_loading));
    r.server.persistence = good;

    auto won = r.acquire(locks, "stock", {.wait = 10s});
    BOOST_TEST(won.held.held());
    BOOST_TEST(locks.stats().nodes[0].quarantine.count() == 0);
    won.held = {};
}

BOOST_AUTO_TEST_CASE(acquire_on_a_busy_server_succeeds_afterwards)
{
    one_server r;
    r.server.persistence = "loading:0\r\naof_enabled:0\r\n";
    ending_manager locks(r, r.settings({.node_timeout = busy_timeout, .restart_guard = restart_guard::strict}));
    r.release(r.acquire(locks, "stock", {.wait = 10s}).held);
    auto const before = r.server.connections;
    r.server.answer = [](auto const& c) -> std::optional<std::string> {
        if (c[0] == "INFO" || c[0] == "CONFIG" || c[0] == "SCRIPT")
            return "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n";
        return std::nullopt;
    };
    r.server.hang_up_all();

    BOOST_TEST(r.run_to([&] { return r.server.connections > before + 1; }));
    BOOST_TEST((r.acquire(locks, "stock").report.nodes[0].error == errc::node_busy));
    r.server.answer = [](auto const&) { return std::nullopt; };

    BOOST_TEST(r.acquire(locks, "stock", {.wait = 10s}).held.held());
    BOOST_TEST(locks.stats().nodes[0].quarantine.count() == 0);
}

BOOST_AUTO_TEST_CASE(heartbeat_drops_a_question_that_becomes_forbidden)
{
    one_server r;
    ending_manager locks(r, r.settings({.node_timeout = busy_timeout}));
    r.release(r.acquire(locks, "stock", {.wait = 10s}).held);
    r.server.answer = [](auto const& c) -> std::optional<std::string> {
        if (c[0] == "CONFIG")
            return "-NOPERM this user has no permissions to run the 'config|get' command\r\n";
        return std::nullopt;
    };
    for (int i = 0; i < 3; ++i) {
        auto const signs = [&] { return r.server.count({"INFO", "memory"}) + r.server.count({"CONFIG"}); };
        auto const before = signs();
        skip_time(busy_timeout);
        BOOST_TEST(r.run_to([&] { return signs() > before; }));
    }
    BOOST_TEST(r.server.count({"INFO", "memory"}) > 3u);
    BOOST_TEST(r.server.count({"CONFIG"}) == 3u);  // in the greeting, behind it, and once more
    BOOST_TEST(r.server.connections == 1);
}

BOOST_FIXTURE_TEST_CASE(release_without_permission_for_delifeq_uses_a_script, manager_with<one_server>)
{
    r.server.native_deletions = {"delifeq"};
    r.server.answer = [](auto& c) {
        return c[0] == "DELIFEQ"
                   ? std::optional<std::string>("-NOPERM this user has no permissions to run the 'delifeq' command\r\n")
                   : std::nullopt;
    };

    for (int i = 0; i < 2; ++i)
        BOOST_TEST(!r.release(r.acquire(locks, "stock").held));

    BOOST_TEST(r.server.count({"DELIFEQ"}) == 1u);  // the node does not try it again
    BOOST_TEST(r.server.count({"EVALSHA", std::string(stores::redis::release_script.sha1), "1", "lock:stock"}) == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
