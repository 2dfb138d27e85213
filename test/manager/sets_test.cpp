#include "core/fencing.hpp"
#include "support/manager_test.hpp"

#include <redlock/resource_set.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(sets)

namespace {

using names = std::vector<std::string>;

names names_of(resource_set const& s) { return {s.begin(), s.end()}; }
names held_names(lock const& l) { return {l.resources().begin(), l.resources().end()}; }

struct world_of_sets : connected_to<5> {
    std::size_t held_by(std::string const& name, std::string_view value) { return w.held_by("lock:" + name, value); }

    std::size_t keys(names const& all)
    {
        std::size_t n = 0;
        for (auto const& name : all)
            n += w.keys("lock:" + name);
        return n;
    }

    /// Other processes take single locks again and again, so all names are seldom free at the same time.
    void keep_busy(names const& all, clock::duration hold)
    {
        for (auto const& name : all) {
            others.push_back(w.manager());
            acquire_repeatedly(w, *others.back(), {name, hold, 300us}, [this](auto) { return ++taken > 0; });
        }
    }

    std::deque<std::unique_ptr<lock_manager>> others;
    std::size_t taken = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(resource_set_accepts_strings_lists_and_ranges)
{
    BOOST_TEST(names_of("a") == names({"a"}));
    BOOST_TEST(names_of(std::string("a")) == names({"a"}));
    BOOST_TEST(names_of(std::string_view("a")) == names({"a"}));
    BOOST_TEST(names_of({"b", "a", "b"}) == names({"a", "b"}));
    BOOST_TEST(names_of({"a", "b"}) == names({"a", "b"}));  // not the range between two pointers
    BOOST_TEST(names_of({std::string("b"), std::string("a")}) == names({"a", "b"}));
    BOOST_TEST(names_of(names{"b", "a", "a"}) == names({"a", "b"}));
    BOOST_TEST(names_of(std::set<std::string_view>{"b", "a"}) == names({"a", "b"}));
    BOOST_TEST(names_of(std::array{"b", "a"}) == names({"a", "b"}));
    BOOST_TEST(names_of({}) == names());
    BOOST_TEST((resource_set{"a", "b"} == resource_set({"b", "a", "a"})));
    static_assert(!std::is_convertible_v<int, resource_set> && !std::is_convertible_v<std::vector<int>, resource_set>);
}

namespace {

// g++ 12 cannot compile an initializer list within a co_await, and may take two strings for a range of characters.
asio::awaitable<std::size_t> acquire_in_every_form(lock_manager& locks, std::string s, std::string_view view, names all)
{
    std::size_t held = 0;
    auto const count = [&](lock l) { held += l.resources().size(); };
    count(co_await locks.async_acquire({"order:7", "stock:12", "stock:99"}, {.ttl = 10s, .wait = 5s}));
    count(co_await locks.async_acquire({"order:7", "stock:12"}));
    count(co_await locks.async_acquire({"order:7", "stock:12"}, {}, asio::use_awaitable));
    count(co_await locks.async_acquire({"order:7"}));
    count(co_await locks.async_acquire("order:7", {.ttl = 10s}));
    count(co_await locks.async_acquire({s + "x", "literal", view}, asio::use_awaitable));
    count(co_await locks.async_acquire(s));
    count(co_await locks.async_acquire({s}));
    count(co_await locks.async_acquire({view, s}));
    count(co_await locks.async_acquire(view));
    count(co_await locks.async_acquire(all));
    count(co_await locks.async_acquire({all}, {.ttl = 10s}));
    co_await locks.with_lock({"a", s + "b"}, {.ttl = 10s}, [&](lock& l) -> asio::awaitable<void> {
        held += l.resources().size();
        co_return;
    });
    co_await locks.with_lock({"a", "b"}, [&](lock& l) -> asio::awaitable<void> {
        held += l.resources().size();
        co_return;
    });
    co_return held;
}

}  // namespace

BOOST_AUTO_TEST_CASE(acquire_set_from_a_coroutine_accepts_each_form_of_names)
{
    asio::io_context context;
    lock_manager locks(context, {.nodes = {"memory://sets"}});
    std::optional<std::size_t> held;
    asio::co_spawn(context, acquire_in_every_form(locks, "s", "view", {"b", "a"}),
                   [&](std::exception_ptr failure, std::size_t n) {
                       BOOST_TEST(!failure);
                       held = n;
                       locks.async_shutdown([](error_code) {});
                   });
    context.run();
    BOOST_TEST(held.value_or(0) == 3u + 2 + 2 + 1 + 1 + 3 + 1 + 1 + 2 + 1 + 2 + 2 + 2 + 2);
}

BOOST_FIXTURE_TEST_CASE(acquire_set_sets_all_keys_to_one_value_and_release_deletes_them, world_of_sets)
{
    auto won = w.acquire(*locks, {"order:7", "stock:9", "stock:12"}, {.ttl = 10s});

    BOOST_TEST(!won.ec);
    BOOST_TEST(held_names(won.held) == names({"order:7", "stock:12", "stock:9"}));  // sorted by bytes
    BOOST_TEST(won.held.resource() == "order:7");
    for (auto const& name : held_names(won.held))
        BOOST_TEST(held_by(name, won.held.token()) == 5u);
    BOOST_TEST(w[0].count(kind::acquire) == 2u);  // one of them connected the manager
    BOOST_TEST(locks->stats().held == 1u);

    BOOST_TEST(!w.release(won.held));
    BOOST_TEST(keys({"order:7", "stock:9", "stock:12"}) == 0u);
}

BOOST_FIXTURE_TEST_CASE(acquire_set_with_one_name_taken_holds_nothing, world_of_sets)
{
    auto other = w.manager();
    auto held = w.acquire(*other, "stock:12");

    auto lost = w.acquire(*locks, {"order:7", "stock:12"});

    BOOST_TEST((lost.ec == errc::contended));
    BOOST_TEST(keys({"order:7"}) == 0u);
    BOOST_TEST(held_by("stock:12", held.held.token()) == 5u);
    BOOST_TEST(lost.report.message.find("\"order:7\" and 1 more") != std::string::npos);
    // The nodes name the taken resource only to an acquisition with a wait.
    auto const waited = w.acquire(*locks, {"order:7", "stock:12"}, {.wait = 50ms});
    BOOST_TEST(waited.report.message
               == "redlock: cannot hold \"order:7\" and 1 more: somebody else holds the lock: \"stock:12\"");
    w[4].reachable = false;
    auto const without_one = w.acquire(*locks, {"order:7", "stock:12"}, {.wait = 50ms}).report.message;
    BOOST_TEST(without_one.find("somebody else holds the lock: \"stock:12\"; 0 of 5 granted, ") != std::string::npos,
               without_one);
}

BOOST_FIXTURE_TEST_CASE(acquire_set_of_one_name_is_the_plain_lock, world_of_sets)
{
    auto won = w.acquire(*locks, {"stock"});
    BOOST_TEST(w[0].requests.back().key == "lock:stock");
    BOOST_TEST((w.acquire(*locks, "stock").ec == errc::contended));
    BOOST_TEST((w.acquire(*locks, {"a", "stock"}).ec == errc::contended));
}

BOOST_FIXTURE_TEST_CASE(acquire_set_with_bad_size_or_name_is_refused_with_the_reason, world_of_sets)
{
    auto const message = [&](resource_set s) {
        auto const lost = w.acquire(*locks, std::move(s));
        BOOST_TEST((lost.ec == errc::invalid_argument));
        return lost.report.message;
    };
    BOOST_TEST(message({}).find("0 resources are named, but 1 to 256") != std::string::npos);
    names many;
    for (int i = 0; i < 257; ++i)
        many.push_back("n" + std::to_string(i));
    BOOST_TEST(message(many).find("257 resources are named, but 1 to 256") != std::string::npos);
    BOOST_TEST(message({"a", "b:=fence"}).find("number 2 of 2") != std::string::npos);
    BOOST_TEST(w[0].count(kind::acquire) == 1u);
    many.pop_back();
    BOOST_TEST(!w.acquire(*locks, many).ec);
}

BOOST_AUTO_TEST_CASE(acquire_set_with_a_node_without_sets_returns_unsupported)
{
    lock_world w(3);
    w[1].locks_several = false;
    auto locks = w.connected();
    auto const before = w[0].requests.size();
    auto const lost = w.acquire(*locks, {"a", "b"});
    BOOST_TEST((lost.ec == errc::unsupported));
    BOOST_TEST(lost.report.message.find("server-1 cannot lock several resources at once") != std::string::npos);
    BOOST_TEST(w[0].requests.size() == before);
    BOOST_TEST(!w.acquire(*locks, "a").ec);
}

// Extension and loss

BOOST_FIXTURE_TEST_CASE(extend_of_a_set_that_is_incomplete_on_a_majority_returns_lost, world_of_sets)
{
    auto won = w.acquire(*locks, {"a", "b", "c"}, {.ttl = 10s});
    BOOST_TEST(!w.extend(won.held, 20s));
    BOOST_TEST((w[0].find("lock:b")->expires > w.now + 19s));

    w[0].entries["lock:b"] = {"foreign", w.now + 1h};
    w[1].entries.erase("lock:b");
    w[2].entries.erase("lock:a");
    BOOST_TEST((w.extend(won.held, 30s) == errc::lost));
    for (std::size_t i = 0; i < 2; ++i)
        BOOST_TEST((w[i].find("lock:a")->expires < w.now + 21s));  // a node extends all keys or none
    BOOST_TEST((w.release(won.held) == errc::not_held));
    w.run_for(10ms);
    BOOST_TEST(keys({"a", "c"}) == 0u);
    BOOST_TEST(held_by("b", "foreign") == 1u);
}

BOOST_FIXTURE_TEST_CASE(renewal_of_a_set_sets_forgotten_keys_again, world_of_sets)
{
    auto won = w.acquire(*locks, {"a", "b", "c"}, {.ttl = 1s, .renew = renewal::automatic});
    w[0].entries.erase("lock:b");
    w[1].entries.clear();
    BOOST_TEST(w.held_after(2s, won));
    for (auto const* name : {"a", "b", "c"})
        BOOST_TEST(held_by(name, won.held.token()) == 5u);
    BOOST_TEST(locks->stats().healed == 2u);
}

// Tokens

BOOST_AUTO_TEST_CASE(fencing_token_of_a_set_grows_for_each_resource)
{
    lock_world w(3);
    auto locks = w.connected({.fencing = true}), other = w.connected({.fencing = true});
    std::map<std::string, std::uint64_t> last;
    auto const draw = [&](lock_manager& m, resource_set s) {
        auto won = w.acquire(m, s);
        BOOST_TEST_REQUIRE(!won.ec);
        auto const token = won.held.fencing_token();
        for (auto const& name : s) {
            BOOST_TEST(token > last[name]);
            last[name] = token;
            BOOST_TEST(w.count([&](auto& on) { return on.counters["lock:" + name] == token; }) >= 2u);
        }
        w.release(won.held);
    };
    draw(*locks, {"a", "b"});
    draw(*other, "b");
    draw(*locks, {"b", "c"});
    // If one counter is far ahead, a second round raises the counters of all resources above it.
    w.each([](auto& s) { s.counters["lock:a"] = (core::fence_end - 1) - 1'000'000; });
    auto const before = locks->stats().second_rounds;
    draw(*locks, {"a", "c"});
    BOOST_TEST(locks->stats().second_rounds == before + 1);
    BOOST_TEST(last["c"] > (core::fence_end - 1) - 1'000'000);
    draw(*other, "c");
}

BOOST_AUTO_TEST_CASE(fencing_token_of_a_set_with_different_counters_is_above_them)
{
    lock_world w(3);
    auto locks = w.connected({.fencing = true});
    auto const ahead = static_cast<std::uint64_t>(1) << 52;
    w[0].counters["lock:a"] = ahead + 5;
    w[1].counters["lock:b"] = ahead + 9;
    w[2].counters["lock:b"] = ahead + 2;
    auto won = w.acquire(*locks, {"a", "b"}, {.wait = 1s});
    BOOST_TEST_REQUIRE(!won.ec);
    BOOST_TEST(won.held.fencing_token() > ahead + 9);
    for (std::string const key : {"lock:a", "lock:b"})
        BOOST_TEST(w.count([&](auto& s) { return s.counters[key] == won.held.fencing_token(); }) >= 2u);
}

// Waiting

BOOST_FIXTURE_TEST_CASE(acquire_set_asks_again_only_when_all_its_names_are_free, world_of_sets)
{
    auto other = w.manager();
    auto a = w.acquire(*other, "a", {.ttl = 60s}), c = w.acquire(*other, "c", {.ttl = 60s});
    auto waiter = w.start(*locks, {"a", "b", "c"}, {.wait = 10min});
    w.run_for(5s);
    auto const asked = w[0].count(kind::acquire);
    BOOST_TEST(!waiter.done);
    for (auto const* name : {"lock:a", "lock:c"})
        BOOST_TEST(w[0].wanted.contains(name));
    BOOST_TEST(!w[0].wanted.contains("lock:b"));
    w.release(a.held);  // the set also waits for "c", so it does not ask yet
    w.run_for(5s);
    BOOST_TEST(w[0].count(kind::acquire) == asked);
    auto const released = w.now;
    w.release(c.held);
    BOOST_TEST(w.wins(waiter));
    BOOST_TEST((waiter.when - released < 5ms));
}

BOOST_FIXTURE_TEST_CASE(acquire_set_succeeds_after_the_ttl_of_a_crashed_holder, world_of_sets)
{
    auto other = w.manager();
    auto b = w.acquire(*other, "b", {.ttl = 10s});
    w.each([](auto& s) { s.watchers.clear(); });
    auto waiter = w.start(*locks, {"a", "b"}, {.wait = 10min});
    w.run_for(1s);
    w.each([](auto& s) { s.watchers.clear(); });
    auto const end = w[0].find("lock:b")->expires;
    BOOST_TEST(w.wins(waiter));
    BOOST_TEST((waiter.when - end < 200ms));
}

BOOST_FIXTURE_TEST_CASE(acquire_set_of_eight_is_not_starved_by_single_locks, world_of_sets)
{
    names const all{"a", "b", "c", "d", "e", "f", "g", "h"};
    keep_busy(all, 20ms);
    w.run_for(1s);
    auto const before = taken;
    for (int i = 0; i < 5; ++i) {
        auto won = w.acquire(*locks, all, {.ttl = 30s, .wait = 1min});
        BOOST_TEST_REQUIRE(!won.ec);
        BOOST_TEST((won.report.elapsed < 2s), "a set waited for " << won.report.elapsed.count() << " us");
        for (auto const& name : all)
            BOOST_TEST(held_by(name, won.held.token()) >= 3u);
        w.release(won, 100ms);
    }
    BOOST_TEST(taken > before + 50);  // the single locks are not starved either
}

BOOST_FIXTURE_TEST_CASE(acquire_set_with_circular_overlaps_does_not_deadlock, world_of_sets)
{
    others.push_back(w.manager());
    others.push_back(w.manager());
    names const pairs[] = {{"a", "b"}, {"b", "c"}, {"a", "c"}};
    std::array<int, 3> done{};
    for (std::size_t i = 0; i < 3; ++i) {
        auto& by = i == 0 ? *locks : *others[i - 1];
        acquire_repeatedly(w, by, {pairs[i], 3ms, 0ms, {.ttl = 5s, .wait = 10min}},
                           [&, i](auto) { return ++done[i] > 0; });
    }
    w.run_for(30s);
    for (auto const n : done)
        BOOST_TEST(n > 300, "a pair was held " << n << " times");
    for (auto& m : others)
        w.shutdown(*m);
    w.shutdown(*locks);
    BOOST_TEST(keys({"a", "b", "c"}) == 0u);
}

BOOST_FIXTURE_TEST_CASE(acquire_set_and_single_locks_share_one_queue_order, world_of_sets)
{
    auto held = w.acquire(*locks, "b", {.ttl = 60s});
    std::vector<std::string> order;
    auto const start = [&](resource_set s, std::string label) {
        locks->async_acquire(std::move(s), {.ttl = 60s, .wait = 10min}, [&, label](error_code ec, lock l) {
            BOOST_TEST(!ec);
            order.push_back(label);
            w.at(w.now + 10ms, [held = std::make_shared<lock>(std::move(l))] {});
        });
    };
    start({"a", "b"}, "ab");
    start("a", "a");
    start({"b", "c"}, "bc");
    start("c", "c");
    w.run_for(1s);
    BOOST_TEST(order == names({"a", "c"}));  // they pass the sets, which wait for "b"
    w.release(held, 1s);
    BOOST_TEST(order == names({"a", "c", "ab", "bc"}));
}

// A set may have to wait for its other names. Meanwhile other processes may take the lock.
BOOST_FIXTURE_TEST_CASE(handover_does_not_go_to_a_set, world_of_sets)
{
    auto third = w.manager(), fourth = w.manager();
    auto b = w.acquire(*fourth, "b", {.ttl = 1min});
    auto first = w.acquire(*locks, "a", {.ttl = 1min});
    auto second = w.start(*locks, "a", {.ttl = 1min, .wait = 1min});
    auto set = w.start(*locks, {"a", "b"}, {.ttl = 1min, .wait = 1min});
    auto elsewhere = w.start(*third, "a", {.ttl = 1min, .wait = 1min});
    w.run_for(100ms);
    w.release(first.held);
    w.end_of(second);
    BOOST_TEST(w[0].handovers.contains("lock:a"));
    w.run_for(100ms);
    auto const released = w.now;
    w.release(second.held);
    BOOST_TEST(w.wins(elsewhere));
    BOOST_TEST((elsewhere.when - released < 20ms));
    BOOST_TEST(!set.done);
}

// Growing sets

namespace {

struct growing : world_of_sets {
    growing()
    {
        c = w.acquire(*other, "c", {.ttl = 10min});
        w.start_acquire(waiter, *locks, {"a", "b", "c", "d"}, options);
        // The set grows after three denials. Each release and new acquisition of "c" causes one.
        for (int i = 0; i < 12 && !grows(); ++i) {
            c.held.async_release([](error_code) {});
            c = w.acquire(*other, "c", {.ttl = 10min});
            w.run_for(50ms);
        }
    }

    bool grows() { return w.keys("lock:a") == 5; }

    /// Frees "c" on the last node. The set gets more keys there than on the others, and trims them.
    scripted_server& more_on_the_last_node()
    {
        w[4].entries.erase("lock:c");
        w[4].tell("lock:c");
        return w[4];
    }

    acquire_options options{.ttl = 3s, .wait = 10min};
    std::unique_ptr<lock_manager> other = w.manager({.max_ttl = 1h});
    lock_world::outcome c, waiter;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(growing_set_keeps_the_names_before_the_first_taken_one, growing)
{
    BOOST_TEST_REQUIRE(grows());
    BOOST_TEST(w.keys("lock:b") == 5u);
    BOOST_TEST(w.keys("lock:d") == 0u);
    auto const value = w[0].find("lock:a")->value;
    w.run_for(20s);  // several ttls
    BOOST_TEST(held_by("a", value) == 5u);
    BOOST_TEST(!waiter.done);
    BOOST_TEST((w.acquire(*other, "a").ec == errc::contended));
    BOOST_TEST(!w.acquire(*other, "d").ec);

    auto const released = w.now;
    w.release(c.held);
    BOOST_TEST(w.wins(waiter));
    BOOST_TEST((waiter.when - released < 5ms));
    BOOST_TEST(waiter.held.token() == value);
    BOOST_TEST((waiter.held.remaining() > 2900ms));
    w.release(waiter.held);
    BOOST_TEST(keys({"a", "b", "c", "d"}) == 0u);
}

BOOST_FIXTURE_TEST_CASE(growing_set_releases_its_keys_when_it_is_aborted, growing)
{
    asio::cancellation_signal cancel;
    options.wait = 10s;
    auto second = w.start(*others.emplace_back(w.manager()), {"c", "e"}, options, cancel.slot());
    BOOST_TEST_REQUIRE(grows());
    w.shutdown(*locks);
    BOOST_TEST((waiter.ec == asio::error::operation_aborted));
    BOOST_TEST(keys({"a", "b", "d"}) == 0u);
    BOOST_TEST(held_by("c", c.held.token()) == 5u);
    cancel.emit(asio::cancellation_type::terminal);
    w.run_for(10ms);
    BOOST_TEST((second.ec == asio::error::operation_aborted));
    BOOST_TEST(keys({"e"}) == 0u);
}

BOOST_AUTO_TEST_CASE(acquire_set_that_times_out_behind_a_growing_set_is_contended)
{
    growing g;
    g.w.run_to([&] { return g.grows(); });
    auto second = g.w.manager();
    auto const b = g.w.acquire(*second, {"b", "c"}, {.ttl = 2s, .wait = 5s});
    BOOST_TEST((b.ec == errc::contended));
    BOOST_TEST((b.report.remaining > 1min));  // the ttl of "c", as the nodes report it
    BOOST_TEST(g.w.keys("lock:b") == 5u);     // the first set keeps it
    BOOST_TEST((g.w.acquire(*second, {"d", "e"}).ec == error_code()));
}

BOOST_FIXTURE_TEST_CASE(growing_set_trims_a_node_to_the_keys_of_a_quorum, growing)
{
    more_on_the_last_node();
    w.run_for(2s);
    auto const value = w[0].find("lock:a")->value;
    BOOST_TEST(w[4].find("lock:a")->value == value);
    BOOST_TEST((w[4].find("lock:c") == nullptr));
    BOOST_TEST((w[4].find("lock:d") == nullptr));
    BOOST_TEST(!waiter.done);
}

// The last request of the set arrives after its manager has ended.
BOOST_AUTO_TEST_CASE(growing_set_late_request_sets_no_keys_after_its_end)
{
    for (bool const reconnected : {false, true}) {
        growing g;
        auto& late = g.w[2];
        // The late request refers to memory that the last lock of the manager keeps alive.
        auto const keep = g.w.acquire(*g.locks, "keep");
        late.request_delay = 1500ms;
        g.w.run_for(1s);  // the set asks again, to prolong its keys
        late.request_delay = 100us;
        if (reconnected)
            late.break_connections();
        auto const released = g.w.now;
        g.locks.reset();
        g.w.run_until(released + 100ms);
        BOOST_TEST(late.find("lock:b") == nullptr);
        g.w.run_for(10s);
        BOOST_TEST(g.keys({"a", "b", "d"}) == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(growing_set_forgotten_by_servers_is_acquired_again, growing)
{
    for (std::size_t i = 0; i < 3; ++i)
        w[i].entries.erase("lock:a");
    auto thief = w.acquire(*other, "a", {.ttl = 1min});
    BOOST_TEST_REQUIRE(!thief.ec);
    w.release(c, 30s);
    BOOST_TEST(!waiter.done);  // the keys of earlier rounds do not count
    w.release(thief.held);
    BOOST_TEST(w.wins(waiter));
}

// A request that trims keys arrives late: on the old connection, after the set was won on a new one.
BOOST_FIXTURE_TEST_CASE(growing_set_does_not_count_a_node_with_an_unconfirmed_trim, growing)
{
    auto& late = more_on_the_last_node();
    w.run_to([&] { return late.find("lock:d") != nullptr; });
    late.request_delay = 1500ms;
    w.run_for(5ms);
    late.request_delay = 100us;
    late.break_connections();
    for (std::size_t i = 0; i < 2; ++i)
        w[i].reachable = false;
    c.held.async_release([](error_code) {});
    w.run_for(1s);
    for (std::size_t i = 0; i < 2; ++i)
        w[i].reachable = true;
    w.run_for(1s);

    auto thief = w.acquire(*other, "c");
    BOOST_TEST((thief.ec == errc::contended));
    BOOST_TEST(w.wins(waiter));
    BOOST_TEST(held_by("c", waiter.held.token()) >= 3u);
}

// The process that resumes the set would not know that a pending trim still deletes keys of this node.
BOOST_FIXTURE_TEST_CASE(detach_of_a_grown_set_with_a_pending_trim_returns_contended, growing)
{
    auto& late = more_on_the_last_node();
    w.run_to([&] { return late.find("lock:d") != nullptr; });
    late.request_delay = 1500ms;
    w.run_for(5ms);
    late.request_delay = 100us;
    c.held.async_release([](error_code) {});
    w.end_of(waiter);
    BOOST_TEST_REQUIRE(waiter.held.held());

    error_code ec;
    waiter.held.detach(ec);
    BOOST_TEST((ec == errc::contended));
    BOOST_TEST(waiter.held.held());
    w.run_for(1600ms);
    waiter.held.detach(ec);
    BOOST_TEST(!ec);
}

// The server has forgotten its scripts, and refuses the trim. The next round asks for these keys before the trim could
// be repeated.
BOOST_FIXTURE_TEST_CASE(growing_set_does_not_repeat_a_refused_trim_after_the_next_round, growing)
{
    auto& forgetful = more_on_the_last_node();
    w.run_to([&] { return forgetful.find("lock:d") != nullptr; });
    w.run_for(200us);
    forgetful.sends_again = true;
    forgetful.refusal = errc::script_missing;
    forgetful.reply_delay = 20ms;
    w.run_for(600us);
    forgetful.refusal = {};
    for (std::size_t i = 0; i < 2; ++i)
        w[i].reachable = false;
    c.held.async_release([](error_code) {});
    w.end_of(waiter);
    BOOST_TEST(w.held_after(10ms, waiter));
    BOOST_TEST(held_by("c", waiter.held.token()) == 3u);
}

BOOST_FIXTURE_TEST_CASE(growing_set_keeps_its_keys_while_its_manager_holds_a_name, growing)
{
    auto d = w.acquire(*locks, "d", {.ttl = 20s});
    BOOST_TEST_REQUIRE(!d.ec);
    auto const value = w[0].find("lock:a")->value;
    w.run_for(10s);
    BOOST_TEST(held_by("a", value) == 5u);
    w.release(c, 1s);
    BOOST_TEST(!waiter.done);
    auto const released = w.now;
    w.release(d.held);
    BOOST_TEST(w.wins(waiter));
    BOOST_TEST((waiter.when - released < 5ms));
}

// Single locks and a waiting set in one manager

namespace {

struct queue_of_sets : connected_to<3> {
    lock_world::outcome a = w.acquire(*locks, "a", {.ttl = 60s});
    std::deque<lock_world::outcome> all;

    lock_world::outcome& start(lock_manager& m, resource_set resources)
    {
        w.start_acquire(all.emplace_back(), m, std::move(resources), {.ttl = 60s, .wait = 10min});
        return all.back();
    }
    lock_world::outcome& start(resource_set resources) { return start(*locks, std::move(resources)); }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(acquire_passes_a_set_that_waits_for_other_names, queue_of_sets)
{
    auto& set = start({"a", "b", "c"});
    auto &b = start("b"), &again = start("b"), &c = start("c"), &behind = start("a");
    BOOST_TEST(w.held_after(1s, b));
    BOOST_TEST(c.held.held());
    BOOST_TEST(!again.done);
    w.drop(b, 1s);
    BOOST_TEST(again.held.held());
    again.held = {};
    c.held = {};
    w.drop(a, 1s);
    BOOST_TEST(set.held.held());
    BOOST_TEST(!behind.done);  // the set waited for the same name
}

BOOST_FIXTURE_TEST_CASE(acquire_behind_a_set_passes_it_when_the_set_has_to_wait, queue_of_sets)
{
    auto b = w.acquire(*locks, "b", {.ttl = 60s});
    auto& set = start({"a", "b"});
    auto& next = start("b");
    BOOST_TEST(!w.done_after(1s, next));
    w.drop(b, 1s);
    BOOST_TEST(next.held.held());
    BOOST_TEST(!set.done);
}

BOOST_FIXTURE_TEST_CASE(acquire_of_single_names_passes_a_waiting_set_16_times, queue_of_sets)
{
    auto const manager = w.connected();
    auto const other = w.acquire(*manager, "x", {.ttl = 60s});
    auto& set = start(*manager, {"b", "c", "x"});
    for (int i = 0; i < 24; ++i)
        start(*manager, i % 2 == 0 ? "b" : "c");
    std::size_t passed = 0;
    for (int i = 0; i < 40; ++i) {
        w.run_for(100ms);
        for (auto& o : all) {
            passed += o.held.held();
            o.held = {};
        }
    }
    BOOST_TEST(passed == 16);
    BOOST_TEST(!set.done);
}

namespace {

struct set_and_a_foreign_lock : queue_of_sets {
    std::unique_ptr<lock_manager> other = w.connected();
    lock_world::outcome m = w.acquire(*other, "m", {.ttl = 60s});

    /// Denies the waiting set until it grows: it then keeps `first`.
    void deny_until_kept(std::string const& first)
    {
        for (int i = 0; i < 12 && w.keys("lock:" + first) < 3; ++i) {
            m.held = {};
            m = w.acquire(*other, "m", {.ttl = 60s});
            w.run_for(50ms);
        }
        BOOST_TEST_REQUIRE(w.keys("lock:" + first) == 3u);
    }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(acquire_passes_a_set_that_waits_for_another_manager, set_and_a_foreign_lock)
{
    for (bool const keeps : {false, true}) {
        auto& set = start({"l", "m", "n"});
        w.run_for(10ms);
        if (keeps)
            deny_until_kept("l");
        auto const called = w.now;
        auto& n = start("n");
        BOOST_TEST(w.wins(n));
        BOOST_TEST((n.when - called < 10ms));
        auto& next = start("n");
        auto& behind = start("m");
        BOOST_TEST(!w.done_after(1s, next));
        w.drop(n, 10ms);
        BOOST_TEST(next.held.held());
        next.held = {};
        w.drop(m, 10ms);
        BOOST_TEST(set.held.held());
        BOOST_TEST(!behind.done);
        w.drop(set, 10ms);
        BOOST_TEST(behind.held.held());
        w.drop(behind, 10ms);
        m = w.acquire(*other, "m", {.ttl = 60s});
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_passes_a_set_that_waits_for_another_manager, set_and_a_foreign_lock)
{
    auto& set = start({"m", "n"});
    w.run_for(10ms);
    auto reader = w.start(*locks, "n", {.ttl = 60s, .wait = 10min, .mode = mode::shared});
    BOOST_TEST(w.held_after(10ms, reader));
    reader.held = {};
    w.drop(m, 10ms);
    BOOST_TEST(set.held.held());
}

// The set has the key of "l" on the nodes, so no acquisition of "l" can pass.
BOOST_FIXTURE_TEST_CASE(acquire_of_what_a_waiting_set_keeps_does_not_pass, set_and_a_foreign_lock)
{
    auto& set = start({"l", "m", "n"});
    deny_until_kept("l");
    auto& l = start("l");
    BOOST_TEST(!w.done_after(1s, l));
    w.drop(m, 10ms);
    BOOST_TEST(set.held.held());
    w.drop(set, 10ms);
    BOOST_TEST(l.held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_set_succeeds_after_16_have_passed, set_and_a_foreign_lock)
{
    for (bool const keeps : {false, true}) {
        bool stopped = false;
        std::size_t taken = 0;
        auto& set = start({"l", "m", "n", "o"});
        w.run_for(10ms);
        if (keeps)
            deny_until_kept("l");
        for (auto const* name : {"n", "o", "n"})
            acquire_repeatedly(w, *locks, {name, 1ms}, [&](auto) {
                taken += !stopped;
                return !stopped;
            });
        w.run_for(1s);
        BOOST_TEST(taken == 16);
        m.held = {};
        BOOST_TEST(w.wins(set));
        BOOST_TEST(taken == 16);
        stopped = true;
        w.drop(set, 1s);
        m = w.acquire(*other, "m", {.ttl = 60s});
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_passes_several_sets_that_wait, set_and_a_foreign_lock)
{
    auto& set = start({"m", "n"});
    auto& second = start({"m", "n", "o"});
    w.run_for(10ms);
    auto& n = start("n");
    BOOST_TEST(w.held_after(10ms, n));
    n.held = {};
    w.drop(m, 10ms);
    BOOST_TEST(set.held.held());
    BOOST_TEST(!second.done);
    w.drop(set, 10ms);
    BOOST_TEST(second.held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_set_does_not_pass_a_waiting_set, queue_of_sets)
{
    start({"a", "b"});
    auto& set = start({"b", "c"});
    auto& c = start("c");
    BOOST_TEST(!w.done_after(1s, set));
    BOOST_TEST(c.held.held());
}

BOOST_AUTO_TEST_SUITE_END()
