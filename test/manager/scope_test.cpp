#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include "support/failing_memory.hpp"
#endif
#include "support/manager_test.hpp"

#include <new>

using namespace redlock;
using namespace redlock::test;
using cancel = asio::cancellation_type;

BOOST_AUTO_TEST_SUITE(scopes)

namespace {

using names = std::vector<std::string>;

names names_of(lock const& l) { return {l.resources().begin(), l.resources().end()}; }

struct scope_world : connected_to<3> {
    using connected_to::connected_to;

    lock_scope scope{*locks};

    using outcome = lock_world::outcome;

    void start(outcome& o, lock_scope const& in, resource_set resources, acquire_options options = {},
               asio::cancellation_slot slot = {})
    {
        in.async_acquire(std::move(resources), options, asio::bind_cancellation_slot(slot, w.into(o)));
    }
    outcome start(lock_scope const& in, resource_set resources, acquire_options options = {})
    {
        return outcome([&](auto& o) { start(o, in, std::move(resources), options); });
    }

    outcome acquire(lock_scope const& in, resource_set resources, acquire_options options = {})
    {
        return w.outcome_of(options, [&](auto& o, auto how) { start(o, in, std::move(resources), how); });
    }
    outcome acquire(resource_set resources, acquire_options options = {})
    {
        return acquire(scope, std::move(resources), options);
    }

    /// Requests that the first server has received since the previous call.
    std::size_t requests() { return w[0].requests.size() - std::exchange(seen, w[0].requests.size()); }
    std::size_t seen = w[0].requests.size();

    std::size_t keys(std::string const& name) { return w.keys("lock:" + name); }

    /// The validity of a lock that is acquired now.
    clock::time_point valid_until(std::chrono::milliseconds ttl) const { return w.now + ttl - ttl / 100 - 2ms; }
};

struct fenced_scope_world : scope_world {
    fenced_scope_world() : scope_world({.fencing = true}) {}
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(scope_acquire_of_a_held_resource_sends_no_request, scope_world)
{
    auto outer = acquire("stock");
    requests();
    auto const asked = w.now;
    auto inner = acquire("stock", {.ttl = 5s});
    BOOST_TEST(!inner.ec);
    BOOST_TEST((w.now == asked));
    BOOST_TEST(requests() == 0u);
    BOOST_TEST(inner.held.token() == outer.held.token());
    BOOST_TEST(inner.report.message == "held already");

    BOOST_TEST(!w.release(inner.held));
    BOOST_TEST(outer.held.held());
    BOOST_TEST(keys("stock") == 3u);
    w.release(outer, 1ms);
    BOOST_TEST(keys("stock") == 0u);
    BOOST_TEST(locks->stats().acquired == 2u);  // the fixture has acquired one
}

BOOST_FIXTURE_TEST_CASE(scope_with_lock_nested_for_the_same_resource_succeeds, scope_world)
{
    int depth = 0;
    auto const nested = [&, in = scope](lock&) -> asio::awaitable<int> {
        co_return co_await in.with_lock("stock", {.ttl = 5s, .wait = wait_forever},
                                        [&](lock& l) -> asio::awaitable<int> {
                                            BOOST_TEST(l.held());
                                            co_return ++depth;
                                        });
    };
    spawned first(w, scope.with_lock("stock", {.ttl = 10s}, nested));
    w.run_for(10ms);
    BOOST_TEST((first.value == 1));
    BOOST_TEST(keys("stock") == 0u);

    std::optional<std::exception_ptr> over;
    scope.with_lock("stock", nested, [&](std::exception_ptr e, int n) {
        BOOST_TEST(n == 2);
        over = e;
    });
    w.run_for(10ms);
    BOOST_TEST((over && !*over));
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_by_another_scope_is_contended, scope_world)
{
    auto held = acquire("stock");
    BOOST_TEST((w.acquire(*locks, "stock").ec == errc::contended));
    lock_scope other(*locks);
    BOOST_TEST((acquire(other, "stock").ec == errc::contended));
    lock_scope const copy = scope;
    BOOST_TEST(!acquire(copy, "stock").ec);
}

BOOST_FIXTURE_TEST_CASE(scope_does_not_keep_locks_after_their_handles_end, scope_world)
{
    auto held = acquire("stock");
    w.drop(held, 1ms);
    BOOST_TEST(keys("stock") == 0u);

    requests();
    held = acquire("stock");
    BOOST_TEST(requests() == 1u);
    BOOST_TEST(!w.release(held.held));
    requests();
    held = acquire("stock");
    BOOST_TEST(requests() == 1u);

    scope = lock_scope(*locks);  // destroys the last copy of the scope
    BOOST_TEST(w.held_after(1s, held));
    BOOST_TEST((acquire("stock").ec == errc::contended));
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_after_share_and_move_reuses_the_lock, scope_world)
{
    auto outside = acquire("stock").held.share();
    w.run_for(1ms);
    requests();
    auto again = acquire("stock", {.ttl = 5s});
    BOOST_TEST(again.held.token() == outside.token());
    BOOST_TEST(requests() == 0u);
    again.held = {};
    outside = {};
    w.run_for(1ms);
    BOOST_TEST(keys("stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_after_a_loss_acquires_a_new_lock, scope_world)
{
    auto held = acquire("stock", {.ttl = 1s});
    BOOST_TEST(!w.held_after(1s, held));
    auto again = acquire("stock", {.ttl = 1s});
    BOOST_TEST(!again.ec);
    BOOST_TEST(again.held.token() != held.held.token());
    BOOST_TEST((w.release(held.held) == errc::not_held));
    BOOST_TEST(again.held.held());
}

// Validity and renewal.

BOOST_FIXTURE_TEST_CASE(scope_acquire_with_a_longer_ttl_extends_the_held_lock, scope_world)
{
    auto outer = acquire("stock", {.ttl = 3s});
    w.run_for(1s);
    requests();
    auto const enough = valid_until(1s);
    auto short_one = acquire("stock", {.ttl = 1s});
    BOOST_TEST((short_one.held.valid_until() >= enough));
    BOOST_TEST(requests() == 0u);

    auto const more = valid_until(3s);
    auto long_one = acquire("stock", {.ttl = 3s});
    BOOST_TEST((long_one.held.valid_until() >= more));
    BOOST_TEST(w[0].count(kind::extend) == 1u);
    BOOST_TEST((outer.held.valid_until() == long_one.held.valid_until()));
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_with_renew_starts_renewals_of_the_held_lock, scope_world)
{
    auto outer = acquire("stock", {.ttl = 1s});
    auto inner = acquire("stock", {.ttl = 2s, .renew = renewal::automatic});
    BOOST_TEST(w.held_after(1min, inner));
    BOOST_TEST((inner.held.remaining() > 1s));

    // Renewals keep this ttl already, so half of it is enough now.
    requests();
    BOOST_TEST(!acquire("stock", {.ttl = 2s, .renew = renewal::automatic}).ec);
    BOOST_TEST(requests() == 0u);
    w.drop(inner, 1min);
    BOOST_TEST(outer.held.held());
    w.drop(outer, 1ms);
    BOOST_TEST(keys("stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_with_a_longer_ttl_makes_renewals_longer, scope_world)
{
    auto outer = acquire("stock", {.ttl = 1s, .renew = renewal::automatic});
    auto inner = acquire("stock", {.ttl = 10s, .renew = renewal::automatic});
    w.run_for(1min);
    BOOST_TEST((inner.held.remaining() > 6s));
}

BOOST_FIXTURE_TEST_CASE(max_hold_of_the_first_handle_limits_later_handles, scope_world)
{
    auto outer = acquire("stock", {.ttl = 1s, .renew = renewal::automatic, .max_hold = 3s});
    auto const end = outer.when + 3s;
    auto inner = acquire("stock", {.ttl = 10s, .renew = renewal::automatic});
    BOOST_TEST(!inner.ec);
    BOOST_TEST((inner.held.valid_until() <= end));
    BOOST_TEST(!w.held_after(3s, inner));
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_returns_no_quorum_if_the_extension_fails, scope_world)
{
    auto outer = acquire("stock", {.ttl = 3s});
    w.each([](auto& s) { s.mute = true; });
    auto inner = acquire("stock", {.ttl = 10s});
    BOOST_TEST((inner.ec == errc::no_quorum));
    BOOST_TEST(contains(inner.report.message, "the scope holds \"stock\""));
    BOOST_TEST(contains(inner.report.message, "server-0"));
    BOOST_TEST(outer.held.held());

    // An acquisition with a wait tries again.
    w.at(w.now + 500ms, [&] { w.each([](auto& s) { s.mute = false; }); });
    BOOST_TEST(!acquire("stock", {.ttl = 10s, .wait = 2s}).ec);
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_returns_lost_if_the_extension_finds_the_loss, scope_world)
{
    auto outer = acquire("stock", {.ttl = 3s});
    w.each([](auto& s) { s.entries.clear(); });
    auto inner = acquire("stock", {.ttl = 10s});
    BOOST_TEST((inner.ec == errc::lost));
    BOOST_TEST(contains(inner.report.message, "a majority of the nodes no longer has it"));
    BOOST_TEST(inner.held.empty());
    BOOST_TEST(!acquire("stock").ec);
}

// Sets.

BOOST_FIXTURE_TEST_CASE(scope_acquire_of_a_set_acquires_only_the_missing_names, scope_world)
{
    auto b = acquire("b", {.ttl = 5s});
    auto all = acquire({"b", "c", "d"}, {.ttl = 3s, .wait = 1s});
    BOOST_TEST(!all.ec);
    BOOST_TEST(names_of(all.held) == names({"b", "c", "d"}));
    BOOST_TEST(w[0].find("lock:c")->value == w[0].find("lock:d")->value);
    BOOST_TEST(w[0].find("lock:b")->value != w[0].find("lock:d")->value);
    BOOST_TEST((all.held.valid_until() < b.held.valid_until()));

    auto part = acquire("d");
    BOOST_TEST(names_of(part.held) == names({"d"}));
    part.held = {};
    w.drop(b, 1ms);
    BOOST_TEST(keys("b") == 3u);  // the set still holds it
    BOOST_TEST(!w.release(all.held));
    BOOST_TEST(!all.held.held());
    w.run_for(1ms);
    BOOST_TEST(keys("b") + keys("c") + keys("d") == 0u);
    BOOST_TEST((w.release(all.held) == errc::not_held));
}

BOOST_FIXTURE_TEST_CASE(handle_on_several_locks_has_the_shortest_validity_and_extends_all, scope_world)
{
    auto b = acquire("b", {.ttl = 5s});
    auto all = acquire({"b", "c"}, {.ttl = 2s, .wait = 1s});
    auto more = all.held.share();
    BOOST_TEST((all.held.remaining() < 2s));
    BOOST_TEST(!w.extend(all.held, 20s));
    BOOST_TEST((all.held.remaining() > 19s));
    BOOST_TEST((b.held.remaining() > 19s));

    BOOST_TEST(!w.release(all.held));
    BOOST_TEST((w.extend(all.held, 30s) == errc::not_held));
    BOOST_TEST(more.held());
    BOOST_TEST(names_of(more) == names({"b", "c"}));
    more = {};
    w.run_for(1ms);
    BOOST_TEST(keys("c") == 0u);
    BOOST_TEST(keys("b") == 3u);
}

BOOST_FIXTURE_TEST_CASE(handle_on_several_locks_is_lost_if_one_lock_is_lost, scope_world)
{
    auto b = acquire("b", {.ttl = 1s});
    auto c = acquire("c", {.ttl = 10s});
    auto all = acquire({"b", "c"}, {.ttl = 900ms});
    auto told = w.start_wait_lost(all.held);
    w.run_for(1s);
    BOOST_TEST((told.ec == errc::lost));
    BOOST_TEST(!all.held.held());
    BOOST_TEST(c.held.held());
    auto again = w.start_wait_lost(all.held);
    BOOST_TEST((w.extend(all.held, 5s) == errc::lost));
    BOOST_TEST((again.ec == errc::lost));
    BOOST_TEST((w.release(all.held) == errc::not_held));
    BOOST_TEST(c.held.held());
}

BOOST_FIXTURE_TEST_CASE(wait_lost_of_several_locks_ends_by_cancellation_and_by_release, scope_world)
{
    auto b = acquire("b");
    auto all = acquire({"b", "c"}, {.wait = 1s});
    asio::cancellation_signal stop;
    auto cancelled = w.start_wait_lost(all.held, stop.slot()), released = w.start_wait_lost(all.held);
    w.run_for(1ms);
    stop.emit(cancel::total);
    w.run_for(1ms);
    BOOST_TEST((cancelled.ec == error_code(asio::error::operation_aborted)));
    BOOST_TEST(!released.ec.has_value());
    w.drop(all, 1ms);
    BOOST_TEST((released.ec == error_code(asio::error::operation_aborted)));
    BOOST_TEST(b.held.held());
}

BOOST_FIXTURE_TEST_CASE(scope_with_lock_on_several_locks_cancels_the_body_if_one_is_lost, scope_world)
{
    auto b = acquire("b", {.ttl = 1s});
    auto const body = [&](lock& l) -> asio::awaitable<void> { co_await l.async_wait_lost(asio::use_awaitable); };
    auto const forever = [&](lock& l) -> asio::awaitable<void> {
        try {
            co_await body(l);
        } catch (system_error const&) {
        }
    };
    spawned ends(w, scope.with_lock({"b", "c"}, {.ttl = 900ms, .renew = renewal::none}, forever));
    w.run_for(2s);
    BOOST_TEST((ends.code() == errc::lost));
    BOOST_TEST(keys("c") == 0u);
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_of_one_name_of_a_held_set_returns_that_name, scope_world)
{
    auto all = acquire({"a", "b", "c"});
    requests();
    auto b = acquire("b");
    BOOST_TEST(b.held.resource() == "b");
    BOOST_TEST(names_of(b.held) == names({"b"}));
    BOOST_TEST(b.held.token() == all.held.token());
    w.drop(all, 1ms);
    BOOST_TEST(keys("a") == 3u);  // the nodes release one lock as a whole
    BOOST_TEST(b.held.held());
    w.drop(b, 1ms);
    BOOST_TEST(keys("a") == 0u);
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_with_fencing_refuses_a_handle_with_two_tokens, fenced_scope_world)
{
    auto bc = acquire({"b", "c"});
    auto b = acquire("b");
    BOOST_TEST(b.held.fencing_token() == bc.held.fencing_token());
    BOOST_TEST(b.held.fencing_token() != 0u);

    auto refused = acquire({"c", "d"});
    BOOST_TEST((refused.ec == errc::invalid_argument));
    BOOST_TEST(contains(refused.report.message, "the scope holds \"c\" already, with a fencing token of its own"));
    BOOST_TEST(w.keys("lock:d") == 0u);
    auto d = acquire("d");
    BOOST_TEST(d.held.fencing_token() != 0u);
    BOOST_TEST((acquire({"c", "d"}).ec == errc::invalid_argument));
}

// The order.

BOOST_FIXTURE_TEST_CASE(scope_acquire_with_wait_out_of_name_order_is_refused, scope_world)
{
    auto b = acquire("b");
    requests();
    auto refused = acquire("a", {.wait = 1s});
    BOOST_TEST((refused.ec == errc::invalid_argument));
    BOOST_TEST(refused.report.message
               == "redlock: cannot hold \"a\": waiting for \"a\" while the scope holds \"b\" would deadlock with an "
                  "owner that holds \"a\" and waits for \"b\": acquire both at once, or in the order of their names, "
                  "or do not wait");
    BOOST_TEST((acquire({"a", "b"}, {.wait = 1s}).ec == errc::invalid_argument));
    BOOST_TEST((acquire({"a", "c"}, {.wait = 1s}).ec == errc::invalid_argument));
    BOOST_TEST(requests() == 0u);
    BOOST_TEST(!acquire("c", {.wait = 1s}).ec);

    // An acquisition without a wait cannot deadlock. The order of later waits includes its lock.
    auto a = acquire("a");
    BOOST_TEST(!a.ec);
    BOOST_TEST((acquire("aa", {.wait = 1s}).ec == errc::invalid_argument));
    b.held = {};
    BOOST_TEST(!acquire("aa", {.wait = 1s}).ec);
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_out_of_order_throws_a_message_with_the_remedy, scope_world)
{
    auto b = acquire("b");
    auto const message = message_of(run(w, scope.async_acquire("a", {.wait = 1s}, asio::use_awaitable)).failure);
    BOOST_TEST(contains(message, "acquire both at once"));
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_exclusive_of_a_shared_lock_is_refused, scope_world)
{
    auto shared = acquire("stock", {.mode = mode::shared});
    auto refused = acquire("stock", {.wait = 1s});
    BOOST_TEST((refused.ec == errc::invalid_argument));
    BOOST_TEST(contains(refused.report.message, "the scope shares \"stock\""));
    BOOST_TEST((acquire("stock").ec == errc::invalid_argument));
    BOOST_TEST(!acquire("stock", {.ttl = 5s, .mode = mode::shared}).ec);
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_shared_of_an_exclusive_lock_sends_no_request, scope_world)
{
    auto alone = acquire("stock");
    requests();
    auto shared = acquire("stock", {.ttl = 5s, .mode = mode::shared});
    BOOST_TEST((shared.held.mode() == mode::exclusive));
    BOOST_TEST(requests() == 0u);
    BOOST_TEST((w.acquire(*locks, "stock", {.mode = mode::shared}).ec == errc::contended));
}

// Readers of one manager share a lock. The handles of other readers do not belong to the scope.
BOOST_FIXTURE_TEST_CASE(scope_does_not_hold_a_shared_lock_after_its_own_handle_ends, scope_world)
{
    auto mine = acquire("stock", {.mode = mode::shared});
    auto theirs = w.acquire(*locks, "stock", {.ttl = 5s, .mode = mode::shared});
    BOOST_TEST(theirs.held.token() == mine.held.token());
    BOOST_TEST(locks->stats().joined == 1u);
    mine.held = {};
    BOOST_TEST((acquire("stock").ec == errc::contended));  // not refused as an upgrade
    BOOST_TEST(!acquire("rope", {.wait = 1s}).ec);         // not refused for its order
}

// The queue of the manager.

BOOST_FIXTURE_TEST_CASE(scope_acquire_passes_a_set_that_waits_for_a_lock_of_the_scope, scope_world)
{
    auto a = acquire("a", {.ttl = 60s});
    auto set = w.start(*locks, {"a", "b"}, {.ttl = 10s, .wait = 1min});
    w.run_for(1s);  // the set has started to grow
    auto b = acquire("b", {.ttl = 60s, .wait = 10s});
    BOOST_TEST(!b.ec);
    BOOST_TEST(!set.done);
    b.held = {};
    w.drop(a, 1s);
    BOOST_TEST(set.held.held());
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_passes_a_set_whose_scope_holds_an_earlier_name, scope_world)
{
    lock_scope other(*locks);
    auto a = acquire(other, "a", {.ttl = 60s});
    auto c = acquire("c", {.ttl = 60s});
    auto cd = start(other, {"c", "d"}, {.ttl = 10s, .wait = 1min});
    w.run_for(1s);
    auto d = acquire("d", {.ttl = 60s, .wait = 10s});
    BOOST_TEST(!d.ec);
    BOOST_TEST(!cd.done);
    c.held = {};
    w.drop(d, 1s);
    BOOST_TEST(!cd.ec);
    BOOST_TEST(cd.held.held());
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_by_an_empty_scope_keeps_the_order_of_calls, scope_world)
{
    auto held = w.acquire(*locks, "b");
    auto set = w.start(*locks, {"a", "b"}, {.wait = 1min});
    auto b = start(scope, "b", {.wait = 1min});
    w.drop(held, 1s);
    BOOST_TEST(set.held.held());
    BOOST_TEST(!b.done);
}

// While another waiter is the first in the queue, notifications go to that waiter. So the set asks the nodes again when
// it is the first again.
BOOST_FIXTURE_TEST_CASE(acquire_set_that_was_passed_asks_the_nodes_again, scope_world)
{
    auto const other = w.connected();
    auto a = acquire("a", {.ttl = 60s});
    auto b = w.acquire(*other, "b", {.ttl = 60s});
    auto c = w.acquire(*other, "c", {.ttl = 60s});
    auto set = w.start(*locks, {"b", "c"}, {.ttl = 10s, .wait = 10min});
    w.run_for(100ms);
    w.drop(c, 100ms);

    // While the passing acquisition asks once, another manager gets b. No node knows any more that the set waits for b.
    w.each([](auto& s) { s.request_delay = s.reply_delay = 600us; });
    b.held = {};
    auto again = w.start(*other, "b", {.ttl = 60s});
    auto passing = start(scope, "b", {.ttl = 60s, .wait = 1ms});
    BOOST_TEST(w.held_after(1s, again));
    BOOST_TEST((passing.ec == errc::contended));
    w.drop(again, 100ms);
    BOOST_TEST(set.held.held());
}

// If `plain` could not pass the set, there would be a deadlock. The set waits for the scope, the scope waits for the
// right to upgrade, and `plain` has that right and waits behind the set.
BOOST_AUTO_TEST_CASE(acquire_upgradeable_with_the_right_passes_a_set)
{
    lock_world w(3);
    auto const locks = w.connected({.max_handovers = 0}), other = w.connected();
    lock_scope const scope(*other);
    acquire_options const upgradeable{
        .ttl = 60s, .wait = 10min, .renew = renewal::automatic, .mode = mode::upgradeable};
    lock_world::outcome a, b;
    scope.async_acquire("a", {.ttl = 60s, .renew = renewal::automatic}, w.into(a));
    w.run_for(1s);
    auto set = w.start(*locks, {"a", "b"}, {.ttl = 60s, .wait = 10min});
    w.run_for(1s);
    auto plain = w.start(*locks, "b", upgradeable);
    w.run_for(1s);
    scope.async_acquire("b", upgradeable, w.into(b));
    BOOST_TEST(w.held_after(1s, plain));
    w.drop(plain, 1s);
    BOOST_TEST(b.held.held());
    b.held = {};
    w.drop(a, 1s);
    BOOST_TEST(set.held.held());
}

namespace {

struct upgrading_scope : scope_world {
    acquire_options const upgradeable{.ttl = 60s, .renew = renewal::automatic, .mode = mode::upgradeable};
    outcome b = acquire("b", upgradeable);
    std::unique_ptr<lock_manager> other = w.connected();
    outcome reader = w.acquire(*other, "b", {.ttl = 60s, .renew = renewal::automatic, .mode = mode::shared});
    std::optional<error_code> upgraded;

    void upgrade()
    {
        b.held.async_upgrade(10min, [this](error_code ec) { upgraded = ec; });
        w.run_for(1s);
    }
};

}  // namespace

// The reader of "b" may wait for "c", which the scope holds.
BOOST_FIXTURE_TEST_CASE(upgrade_that_waits_with_a_later_name_held_is_refused, upgrading_scope)
{
    auto a = acquire("a");  // without a wait, and before "b" in the order of names
    auto c = acquire("c", {.ttl = 60s});
    requests();
    upgrade();
    BOOST_TEST((upgraded == error_code(errc::invalid_argument)));
    BOOST_TEST(requests() == 0u);
    BOOST_TEST((b.held.mode() == mode::upgradeable));

    auto const message = message_of(run(w, b.held.async_upgrade(1min, asio::use_awaitable)).failure);
    BOOST_TEST(contains(message, "cannot upgrade \"b\""));
    BOOST_TEST(contains(message, "while the scope holds \"c\""));

    BOOST_TEST((w.upgrade(b.held) == errc::contended));  // an upgrade without a wait cannot deadlock
    c.held = {};
    upgraded.reset();
    upgrade();
    BOOST_TEST(!upgraded.has_value());
    w.drop(reader, 1s);
    BOOST_TEST((upgraded == error_code()));
}

BOOST_FIXTURE_TEST_CASE(upgrade_that_waits_ends_when_its_scope_gets_a_later_name, upgrading_scope)
{
    upgrade();
    BOOST_TEST(!upgraded.has_value());
    auto a = acquire("a");
    w.run_for(1s);
    BOOST_TEST(!upgraded.has_value());
    auto c = acquire("c", {.wait = 1s});
    BOOST_TEST(c.held.held());
    w.run_for(1ms);
    BOOST_TEST((upgraded == error_code(errc::invalid_argument)));
    BOOST_TEST((b.held.mode() == mode::upgradeable));
    BOOST_TEST(w.acquire(*other, "b", {.mode = mode::shared}).held.held());  // readers may enter again
}

// Handles still count for their scope after they were shared, and after the last copy of the scope is destroyed.
BOOST_FIXTURE_TEST_CASE(upgrade_that_waits_after_the_end_of_the_scope_keeps_the_order, upgrading_scope)
{
    auto c = acquire("c", {.ttl = 60s});
    auto const again = b.held.share();
    b.held = {};
    b.held = again.share();
    scope = lock_scope(*other);
    upgrade();
    BOOST_TEST((upgraded == error_code(errc::invalid_argument)));
}

namespace {

/// Owners that acquire names in order, with pauses, and other clients that acquire sets.
struct crowd {
    lock_world w{3};
    std::vector<std::unique_ptr<lock_manager>> managers;
    std::mt19937 random;
    int done = 0;
    int failed = 0;
    int upgraded = 0;
    int refused = 0;

    explicit crowd(unsigned seed) : random(seed)
    {
        managers.push_back(w.manager());
        managers.push_back(w.manager());
    }

    std::size_t draw(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random); }

    names draw_names(std::size_t from, std::size_t count)
    {
        names all;
        for (std::size_t i = 0; i < count; ++i)
            all.push_back("r" + std::to_string(from + draw(6 - from)));
        return all;
    }

    struct owner {
        lock_scope scope;
        std::vector<lock> held;
        int left;
    };

    void go_on(std::shared_ptr<owner> o)
    {
        auto const last = o->held.empty() ? -1 : o->held.back().resources().back()[1] - '0';
        if (last == 5 || o->left-- == 0) {
            ++done;
            return;
        }
        auto const drawn = draw(4);
        auto const mode = drawn == 0 ? mode::shared : drawn == 1 ? mode::upgradeable : mode::exclusive;
        auto const wanted = draw_names(static_cast<std::size_t>(last + 1), mode == mode::exclusive ? 1 + draw(2) : 1);
        o->scope.async_acquire(wanted, {.ttl = 60s, .wait = 10min, .renew = renewal::automatic, .mode = mode},
                               [this, o](error_code ec, lock l) {
                                   if (ec) {
                                       ++failed;
                                       return;
                                   }
                                   o->held.push_back(std::move(l));
                                   w.at(w.now + std::chrono::milliseconds(draw(20)), [this, o] { upgrade_one(o); });
                               });
    }

    // Upgrades any lock of the owner. The manager refuses if the owner also holds a later name.
    void upgrade_one(std::shared_ptr<owner> o)
    {
        auto& l = o->held[draw(o->held.size())];
        if (l.mode() != mode::upgradeable || draw(2) == 0)
            return go_on(o);
        l.async_upgrade(10min, [this, o](error_code ec) {
            ++(!ec ? upgraded : refused);
            if (ec && ec != errc::invalid_argument)
                ++failed;
            w.at(w.now + std::chrono::milliseconds(draw(20)), [this, o] { go_on(o); });
        });
    }

    void take_a_set(lock_manager& m)
    {
        m.async_acquire(draw_names(0, 1 + draw(3)), {.ttl = 60s, .wait = 10min}, [this](error_code ec, lock l) {
            ++(ec ? failed : done);
            if (!ec)
                w.at(w.now + std::chrono::milliseconds(draw(20)), [held = std::make_shared<lock>(std::move(l))] {});
        });
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(scopes_with_random_sets_and_upgrades_never_deadlock)
{
    int upgraded = 0, refused = 0;
    for (unsigned seed = 1; seed <= 20; ++seed) {
        crowd c(seed);
        constexpr int each = 20;
        for (int i = 0; i < each; ++i) {
            auto& m = *c.managers[c.draw(2)];
            c.w.at(c.w.now + std::chrono::milliseconds(c.draw(200)), [&c, &m] {
                c.go_on(std::make_shared<crowd::owner>(crowd::owner{lock_scope(m), {}, 4}));
            });
            c.w.at(c.w.now + std::chrono::milliseconds(c.draw(200)), [&c, &m] { c.take_a_set(m); });
        }
        c.w.run_for(1min);
        BOOST_TEST(c.done == 2 * each,
                   "seed " << seed << ": " << c.done << " are done, " << c.failed << " have failed");
        upgraded += c.upgraded;
        refused += c.refused;
    }
    BOOST_TEST(upgraded > 0);
    BOOST_TEST(refused > 0);
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_exclusive_of_an_upgraded_lock_is_refused, scope_world)
{
    auto one = acquire("stock", {.mode = mode::shared});
    BOOST_TEST(!w.upgrade(one.held));
    BOOST_TEST((acquire("stock").ec == errc::invalid_argument));  // the first handle may downgrade it
}

// Concurrent calls.

BOOST_FIXTURE_TEST_CASE(scope_acquire_twice_at_the_same_time_shares_one_lock, scope_world)
{
    auto first = start(scope, "stock", {.ttl = 10s});
    auto second = start(scope, "stock", {.ttl = 5s});
    BOOST_TEST(w.held_after(1ms, first));
    BOOST_TEST(second.held.token() == first.held.token());
    BOOST_TEST(requests() == 1u);
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_begins_its_own_wait_after_an_earlier_call_fails, scope_world)
{
    auto held = w.acquire(*locks, "stock");
    auto first = start(scope, "stock", {.wait = 1s});
    auto second = start(scope, "stock", {.wait = 1s});
    w.at(w.now + 1500ms, [&] { held.held = {}; });
    w.run_for(1200ms);
    BOOST_TEST((first.ec == errc::contended));
    BOOST_TEST(!second.done);  // its wait began after the first call had failed
    BOOST_TEST(w.held_after(1s, second));
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_waits_behind_earlier_calls_unless_the_lock_is_held, scope_world)
{
    auto a = acquire("a", {.ttl = 60s});
    auto taken = w.acquire(*locks, "b", {.ttl = 60s});
    auto b = start(scope, "b", {.ttl = 60s, .wait = 1min});
    auto c = start(scope, "c", {.ttl = 60s});
    auto again = start(scope, "b", {.ttl = 30s});
    auto late = start(scope, "a", {.ttl = 30s});
    BOOST_TEST(w.held_after(1s, late));  // the scope holds "a", so the call asks no node
    BOOST_TEST(!b.done);
    BOOST_TEST(!c.done);  // otherwise the scope would hold "c" while it waits for "b"
    BOOST_TEST(!again.done);
    w.drop(taken, 10ms);
    BOOST_TEST(b.held.held());
    BOOST_TEST(c.held.held());
    BOOST_TEST(again.held.token() == b.held.token());
}

// Cancellation.

namespace {

struct cancelled_world : scope_world {
    asio::cancellation_signal stop;
    outcome o;

    void cancel_after(clock::duration d, cancel type)
    {
        BOOST_TEST(!w.done_after(d, o));
        stop.emit(type);
    }

    void expect_aborted()
    {
        w.run_for(1us);
        BOOST_TEST(o.calls == 1);
        BOOST_TEST((o.ec == error_code(asio::error::operation_aborted)));
        BOOST_TEST(o.held.empty());
    }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(scope_acquire_cancelled_before_its_turn_is_aborted, cancelled_world)
{
    for (auto const type : {cancel::total, cancel::partial, cancel::terminal}) {
        auto taken = w.acquire(*locks, "a", {.ttl = 60s});
        o = {};
        auto first = start(scope, "a", {.ttl = 10s, .wait = 1min});
        start(o, scope, "b", {.ttl = 10s}, stop.slot());
        auto last = start(scope, "c", {.ttl = 10s});
        cancel_after(1s, type);
        expect_aborted();
        BOOST_TEST(!last.done);
        w.drop(taken, 1s);
        BOOST_TEST(first.held.held());
        BOOST_TEST(last.held.held());
        BOOST_TEST(w[0].find("lock:b") == nullptr);
    }
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_cancelled_before_it_starts_sends_nothing, cancelled_world)
{
    start(o, scope, "stock", {}, stop.slot());
    stop.emit(cancel::terminal);
    expect_aborted();
    w.run_for(1s);
    BOOST_TEST(keys("stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_of_a_set_cancelled_releases_the_new_names, cancelled_world)
{
    auto b = acquire("b");
    start(o, scope, {"b", "c"}, {.wait = 1s}, stop.slot());
    auto next = start(scope, "d", {});
    cancel_after(100us, cancel::terminal);
    expect_aborted();
    w.run_for(1s);
    BOOST_TEST(keys("c") == 0u);
    BOOST_TEST(b.held.held());
    BOOST_TEST(next.held.held());
    w.drop(b, 1ms);
    BOOST_TEST(keys("b") == 0u);
}

// The aborted call may have the last handle on "b".
BOOST_FIXTURE_TEST_CASE(scope_acquire_cancelled_releases_a_lock_without_other_handles, cancelled_world)
{
    auto b = acquire("b", {.ttl = 60s});
    auto taken = w.acquire(*locks, "c", {.ttl = 60s});
    start(o, scope, {"b", "c"}, {.ttl = 60s, .wait = 1min}, stop.slot());
    w.run_for(1s);
    w.drop(b, 1s);
    BOOST_TEST(keys("b") == 3u);
    stop.emit(cancel::partial);
    expect_aborted();
    w.run_for(1ms);
    BOOST_TEST(keys("b") == 0u);
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_with_total_cancellation_finishes_its_round, cancelled_world)
{
    start(o, scope, "stock", {.wait = 1s}, stop.slot());
    cancel_after(100us, cancel::total);
    w.run_for(1ms);
    BOOST_TEST(!o.ec);
    BOOST_TEST(o.held.held());

    auto taken = w.acquire(*locks, "tools", {.ttl = 60s});
    auto had = std::move(o.held);
    o = {};
    start(o, scope, "tools", {.wait = 1min}, stop.slot());
    cancel_after(10s, cancel::total);
    expect_aborted();
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_cancelled_in_an_extension_keeps_the_outer_lock, cancelled_world)
{
    auto outer = acquire("stock", {.ttl = 3s});
    start(o, scope, "stock", {.ttl = 10s}, stop.slot());
    cancel_after(100us, cancel::terminal);
    expect_aborted();
    BOOST_TEST(outer.held.held());
    w.drop(outer, 1ms);
    BOOST_TEST(keys("stock") == 0u);

    outer = acquire("stock", {.ttl = 3s});
    o = {};
    start(o, scope, "stock", {.ttl = 10s}, stop.slot());
    cancel_after(100us, cancel::total);
    BOOST_TEST(w.held_after(1ms, o));
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_cancelled_between_two_extensions_is_aborted, cancelled_world)
{
    for (auto const type : {cancel::total, cancel::terminal}) {
        auto outer = acquire("stock", {.ttl = 30s});
        w.each([](auto& s) { s.reachable = false; });
        o = {};
        start(o, scope, "stock", {.ttl = 60s, .wait = 20s}, stop.slot());
        cancel_after(1s, type);
        expect_aborted();
        w.each([](auto& s) { s.reachable = true; });
        BOOST_TEST(!w.release(outer.held));
    }
}

BOOST_FIXTURE_TEST_CASE(scope_acquire_cancelled_after_it_won_returns_the_lock, cancelled_world)
{
    bool cancelled = false;
    w.each_step = [&] {
        if (!cancelled && w[0].find("lock:stock") && locks->stats().held == 1) {
            cancelled = true;
            stop.emit(cancel::terminal);
        }
    };
    start(o, scope, "stock", {}, stop.slot());
    w.run_for(10ms);
    BOOST_TEST(cancelled);
    BOOST_TEST(o.held.held());
    w.each_step = {};
}

// The end of the manager and of the execution context.

BOOST_FIXTURE_TEST_CASE(scope_acquire_is_aborted_when_the_manager_ends, scope_world)
{
    auto held = acquire("a", {.ttl = 60s});
    auto taken = w.acquire(*locks, "b", {.ttl = 60s});
    auto waits = start(scope, "b", {.ttl = 60s, .wait = wait_forever});
    auto behind = start(scope, "c", {.ttl = 60s, .wait = wait_forever});
    w.run_for(1s);
    locks.reset();
    w.run_for(1ms);
    BOOST_TEST((waits.ec == error_code(asio::error::operation_aborted)));
    BOOST_TEST((behind.ec == error_code(asio::error::operation_aborted)));
    auto late = start(scope, "a", {.ttl = 1s});
    w.run_for(1ms);
    BOOST_TEST((late.ec == error_code(asio::error::operation_aborted)));
    BOOST_TEST(held.held.held());
    held.held = {};
    w.drop(taken, 1s);
    BOOST_TEST(keys("a") + keys("b") == 0u);
}

// An acquisition, an extension and calls that wait for their turn are pending when the context ends. Then no handler is
// called, and nothing leaks.
BOOST_AUTO_TEST_CASE(scope_acquire_may_be_pending_when_the_execution_context_ends)
{
    for (auto moment = 0us; moment < 1500us; moment += 50us) {
        std::unique_ptr<lock_manager> locks;
        std::optional<lock_scope> scope;
        std::deque<lock> handles;
        {
            lock_world w(3);
            locks = w.connected();
            scope.emplace(*locks);
            auto const start = [&](resource_set resources, acquire_options options) {
                scope->async_acquire(std::move(resources), options, [&](error_code, lock l) {
                    handles.push_back(std::move(l));
                    handles.back().async_wait_lost([](error_code) {});
                });
            };
            start("a", {.ttl = 5s});
            w.run_for(1ms);
            start({"a", "b"}, {.ttl = 20s, .wait = 1min, .renew = renewal::automatic});
            start("c", {.ttl = 20s, .wait = 1min});
            start("b", {.ttl = 20s, .wait = 1min});
            w.run_for(moment);
        }
        for (auto const& h : handles)
            BOOST_TEST_REQUIRE(!h.held());
        BOOST_CHECK_EXCEPTION(static_cast<void>(scope->async_acquire("a", asio::use_future).get()), system_error,
                              [](auto& e) { return e.code() == asio::error::operation_aborted; });
    }
}

BOOST_AUTO_TEST_CASE(scope_acquire_from_many_threads_succeeds, *boost::unit_test::label("threads"))
{
    asio::thread_pool context(2);
    lock_manager locks(context, {.nodes = {"memory://scope-threads"}});
    lock_scope const scope(locks);
    auto outer = scope.async_acquire("a", {.ttl = 60s}, asio::use_future).get();
    std::atomic<int> held{0};
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&, scope] {
                for (int k = 0; k < 200; ++k) {
                    auto const again = scope.async_acquire("a", {.ttl = 30s}, asio::use_future).get();
                    auto const both =
                        scope.async_acquire({"a", "b"}, {.ttl = 30s, .wait = 1min}, asio::use_future).get();
                    held += again.held() && both.share().held();
                }
            });
    }
    BOOST_TEST(held == 800);
    BOOST_TEST(outer.held());
    locks.async_shutdown(asio::use_future);
    outer = {};
    context.join();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Each allocation after the grant of the nodes fails once.
BOOST_AUTO_TEST_CASE(scope_acquire_without_memory_releases_the_lock)
{
    std::size_t failures = 0;
    for (int piece = 1; piece <= 40; ++piece) {
        scope_world s;
        lock_world::outcome o;
        s.start(o, s.scope, "stock", {.ttl = 10s});
        s.w.run_for(150us);  // the servers have answered
        failing_memory::in = piece;
        try {
            s.w.run_for(200us);
        } catch (std::bad_alloc const&) {  // the virtual world itself had no memory
        }
        failing_memory::in = 0;
        s.w.run_for(5s);
        BOOST_TEST((!o.ec || o.held.empty()), "without piece " << piece << " there is an error and a lock");
        failures += o.done && o.ec ? 1 : 0;
        if (o.done && o.ec)
            BOOST_TEST(s.keys("stock") == 0u);
    }
    BOOST_TEST(failures > 0u);
}
#endif

BOOST_AUTO_TEST_SUITE_END()
