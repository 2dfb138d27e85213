// Support for tests of applications: `testing::manual_clock`, `testing::lose` and `memory_server`.

#include <redlock.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <optional>
#include <stdexcept>
#include <string>

using namespace redlock;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(testing_support)

namespace {

struct fixture {
    explicit fixture(manager_options c = {})
    {
        c.nodes = {"memory://a", "memory://b", "memory://c"};
        c.test_clock = clock;
        locks.emplace(context, std::move(c));
    }

    lock acquire(std::string const& resource, acquire_options options)
    {
        lock l;
        locks->async_acquire(resource, options, [&](error_code ec, lock won) { last = ec, l = std::move(won); });
        clock->advance(context, options.wait);
        return l;
    }

    std::shared_ptr<memory_server> a = memory_server::at("a"), b = memory_server::at("b"), c = memory_server::at("c");
    std::shared_ptr<testing::manual_clock> clock = std::make_shared<testing::manual_clock>();
    boost::asio::io_context context;
    std::optional<lock_manager> locks;
    error_code last;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(manual_clock_advance_by_hours_takes_little_real_time, fixture)
{
    auto const begin = std::chrono::steady_clock::now();
    auto const held = acquire("stock", {.ttl = 3s, .renew = renewal::automatic});
    auto const before = clock->now();
    clock->advance(context, 12h);
    BOOST_TEST((clock->now() - before == 12h));
    BOOST_TEST(held.held());
    BOOST_TEST(locks->stats().renewals > 10'000u);
    BOOST_TEST((std::chrono::steady_clock::now() - begin < 1h));
}

BOOST_AUTO_TEST_CASE(manual_clock_advance_ignores_negative_times_and_saturates)
{
    asio::io_context context;
    testing::manual_clock clock;
    auto const begun = clock.now();
    clock.advance(context, -1h);
    BOOST_TEST((clock.now() == begun));
    clock.advance(context, clock::duration::max());
    BOOST_TEST((clock.now() == clock::time_point::max()));
}

BOOST_FIXTURE_TEST_CASE(manual_clock_advance_expires_keys, fixture)
{
    auto const held = acquire("stock", {.ttl = 3s});
    BOOST_TEST(a->size() == 1u);
    BOOST_TEST((held.remaining() > 2900ms));
    clock->advance(context, 2999ms);
    BOOST_TEST(a->value("lock:stock").has_value());
    clock->advance(context, 1ms);
    BOOST_TEST(!a->value("lock:stock"));
    BOOST_TEST(!held.held());
}

BOOST_FIXTURE_TEST_CASE(manual_clock_advance_applies_to_set_delay_and_waits, fixture)
{
    auto const first = acquire("stock", {.ttl = 10s});
    for (auto& s : {a, b, c})
        s->set_delay(20ms);
    lock second;
    locks->async_acquire("stock", {.wait = 1min}, [&](error_code, lock l) { second = std::move(l); });
    clock->advance(context, 9s);
    BOOST_TEST(!second.held());
    clock->advance(context, 2s);
    BOOST_TEST(second.held());
    for (auto& s : {a, b, c})
        s->set_delay(0ms);
}

BOOST_FIXTURE_TEST_CASE(lose_twice_is_notified_and_counted_once, fixture)
{
    auto held = acquire("stock", {.ttl = 10s, .renew = renewal::automatic});
    int told = 0;
    held.async_wait_lost([&](error_code ec) { told += ec == errc::lost; });
    testing::lose(held);
    testing::lose(held);
    clock->advance(context, 0s);
    BOOST_TEST(!held.held());
    BOOST_TEST(told == 1);
    BOOST_TEST(locks->stats().lost == 1u);
    testing::lose(lock());
    clock->advance(context, 1h);
    BOOST_TEST(locks->stats().lost == 1u);
}

BOOST_AUTO_TEST_CASE(memory_server_restart_starts_quarantine_and_loses_pending_requests)
{
    fixture f({.max_ttl = 1min, .fencing = true});
    auto const before = f.acquire("stock", {.ttl = 1s}).fencing_token();
    f.a->restart(), f.b->restart();
    auto const refused = f.acquire("stock", {});
    BOOST_TEST(!refused.held());
    BOOST_TEST((f.last == errc::quarantined));
    f.clock->advance(f.context, 1min);
    auto const after = f.acquire("stock", {});
    BOOST_TEST(after.held());
    BOOST_TEST(after.fencing_token() > before);

    f.a->set_delay(10ms), f.b->set_delay(10ms);
    std::shared_ptr<attempt_report const> report;
    f.locks->async_acquire("other", {.explain = true}, [&](error_code ec, lock const& l) {
        f.last = ec;
        report = l.report();
    });
    f.clock->advance(f.context, 5ms);
    f.a->restart(), f.b->restart();
    f.clock->advance(f.context, 1s);
    BOOST_TEST((f.last == errc::no_quorum));
    BOOST_TEST((report->nodes.at(0).error == errc::connection_lost));
    f.a->set_delay(0ms), f.b->set_delay(0ms);
}

BOOST_AUTO_TEST_CASE(memory_server_erase_on_a_majority_loses_the_lock)
{
    fixture f({.heal = false});
    auto const held = f.acquire("stock", {.ttl = 3s, .renew = renewal::automatic});
    f.a->erase("lock:stock"), f.b->erase("lock:stock"), f.b->erase("none");
    f.clock->advance(f.context, 3s);
    BOOST_TEST(!held.held());
}

BOOST_AUTO_TEST_CASE(test_clock_with_a_redis_node_is_refused)
{
    boost::asio::io_context context;
    manager_options c{.nodes = {"memory://a", "redis://127.0.0.1"},
                      .test_clock = std::make_shared<testing::manual_clock>()};
    BOOST_CHECK_EXCEPTION(lock_manager(context, c), std::invalid_argument, [](auto& e) {
        return std::string(e.what()).find("nodes[1] is \"redis://127.0.0.1:6379\", but test_clock is set")
               != std::string::npos;
    });
}

BOOST_AUTO_TEST_CASE(manual_clock_manager_and_context_may_be_destroyed_in_any_order)
{
    for (int const order : {0, 1, 2}) {
        auto clock = std::make_shared<testing::manual_clock>();
        auto context = std::make_unique<boost::asio::io_context>();
        auto locks = std::make_unique<lock_manager>(*context,
                                                    manager_options{.nodes = {"memory://lonely"}, .test_clock = clock});
        lock held;
        locks->async_acquire("stock", {.renew = renewal::automatic}, [&](error_code, lock l) { held = std::move(l); });
        clock->advance(*context, 1s);
        BOOST_TEST(held.held());
        if (order == 0)
            context.reset();
        else if (order == 1)
            locks.reset();
        else
            clock.reset();
        if (context && clock)
            clock->advance(*context, 1min);
        if (order == 2)
            context->poll();
    }
}

BOOST_AUTO_TEST_SUITE_END()
