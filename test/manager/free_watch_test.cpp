// When a lock may be free, as nodes have told: `locks::free_watch`, without an acquisition.

#include "locks/free_watch.hpp"
#include "support/acquisition_parts.hpp"

#include "core/backoff.hpp"

using namespace redlock;
using namespace redlock::test;
using core::watched;

BOOST_AUTO_TEST_SUITE(free_watch)

namespace {

constexpr auto never = clock::time_point::max();

struct watching : acquisition_parts {
    /// Asks the nodes for @p r, and tells @p watch that others had the lock.
    clock::time_point ask(locks::free_watch& watch, locks::acquire_request const& r)
    {
        auto const asked = round_for(r);
        watch.begin(asked);
        gather(*asked);
        return watch.denied(w.now, 0, 1);
    }

    clock::duration pause_after(locks::free_watch& watch, locks::acquire_request const& r)
    {
        auto const again = ask(watch, r);
        return again - w.now;
    }

    locks::acquire_request const stock = request("stock");
    locks::acquire_request const set = request({"a", "b"});
};

node_reply denied(node_reply r = {})
{
    r.vote = vote::denied;
    return r;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(denied_by_a_holder_waits_for_the_nodes, watching)
{
    auto const held = w.acquire(*other, "stock", {.ttl = 30s});
    locks::free_watch watch(stock);

    BOOST_TEST((ask(watch, stock) == never));
    BOOST_TEST((watch.free_at() > w.now + 29s));
    BOOST_TEST((watch.free_at() < w.now + 31s));
}

// Each pause is for the number of denials; it grows while the holder stays the same.
BOOST_FIXTURE_TEST_CASE(denied_without_notifications_pauses, watching)
{
    w.each([](auto& s) { s.notifies = false; });
    auto const held = w.acquire(*other, "stock", {.ttl = 30s});
    locks::free_watch watch(stock);

    BOOST_TEST((pause_after(watch, stock) == core::pause_after_denial(1, 0, 0)));
    BOOST_TEST((pause_after(watch, stock) == core::pause_after_denial(2, 1, 0)));
    BOOST_TEST((pause_after(watch, stock) == core::pause_after_denial(3, 2, 0)));
}

BOOST_FIXTURE_TEST_CASE(denied_in_a_race_pauses_as_after_a_race, watching)
{
    w.each([](auto& s) { s.notifies = false; });
    for (auto const i : {1u, 2u})
        w[i].entries["lock:stock"] = {"a rival", w.now + 30s};
    locks::free_watch watch(stock);

    BOOST_TEST((pause_after(watch, stock) == core::pause_after(1, 0)));
}

BOOST_FIXTURE_TEST_CASE(delay_doubles_with_each_race, watching)
{
    for (auto const i : {1u, 2u})
        w[i].entries["lock:stock"] = {"a rival", w.now + 30s};
    auto const asked = round_for(stock);
    locks::free_watch watch(stock);
    watch.begin(asked);
    gather(*asked);

    watch.denied(w.now, 0, 1);
    auto const first = watch.delay(asked->started + 200us, 0);
    watch.denied(w.now, 0, 2);
    BOOST_TEST((watch.delay(asked->started + 200us, 0) == 2 * first));
}

BOOST_FIXTURE_TEST_CASE(may_be_free_counts_once_a_quorum_notifies, watching)
{
    auto const held = w.acquire(*other, "stock", {.ttl = 30s});
    locks::free_watch watch(stock);
    ask(watch, stock);

    BOOST_TEST(watch.may_be_free(watched::lock, 0, "stock"));
    BOOST_TEST((watch.free_at() > w.now));
    BOOST_TEST(watch.may_be_free(watched::lock, 1, "stock"));
    BOOST_TEST((watch.free_at() == w.now));
}

BOOST_FIXTURE_TEST_CASE(may_be_free_ignores_another_resource, watching)
{
    auto const held = w.acquire(*other, "stock", {.ttl = 30s});
    locks::free_watch watch(stock);
    ask(watch, stock);

    for (auto const node : {0u, 1u, 2u})
        BOOST_TEST(!watch.may_be_free(watched::lock, node, "another"));
    BOOST_TEST((watch.free_at() > w.now));
}

// A push that arrives before the answer is older than the answer.
BOOST_FIXTURE_TEST_CASE(may_be_free_ignores_a_push_before_the_answer, watching)
{
    auto const held = w.acquire(*other, "stock", {.ttl = 30s});
    w[2].mute = true;
    locks::free_watch watch(stock);
    ask(watch, stock);

    BOOST_TEST(!watch.may_be_free(watched::lock, 2, "stock"));
    BOOST_TEST(watch.may_be_free(watched::lock, 1, "stock"));
    watch.end();
    BOOST_TEST(!watch.may_be_free(watched::lock, 0, "stock"));
}

BOOST_FIXTURE_TEST_CASE(denied_behind_others_stands_by_until_a_node_calls, watching)
{
    locks::free_watch watch(stock);
    watch.begin(answered(stock, denied({.watched = true, .ahead = 2, .stands_by = true})));

    BOOST_TEST((watch.denied(w.now, 0, 1) == w.now + core::stand_by(0)));
    BOOST_TEST((watch.free_at() == never));
    BOOST_TEST(!watch.may_be_free(watched::lock, 0, "stock"));
    BOOST_TEST((watch.free_at() == never));
    BOOST_TEST(watch.may_be_free(watched::place, 0, "stock"));
    BOOST_TEST((watch.free_at() == w.now));
}

BOOST_FIXTURE_TEST_CASE(denied_behind_a_writer_looks_again, watching)
{
    auto const reader = request("stock", {.mode = mode::shared});
    locks::free_watch watch(reader);
    watch.begin(answered(reader, denied({.watched = true, .behind_writer = true})));

    BOOST_TEST((watch.denied(w.now, 0, 1) == w.now + core::stand_by(0)));
}

BOOST_FIXTURE_TEST_CASE(awaits_what_the_node_has_told, watching)
{
    locks::free_watch watch(stock);
    BOOST_TEST(watch.awaits(watched::lock, 0, "stock"));
    BOOST_TEST(!watch.awaits(watched::handovers, 0, "stock"));

    watch.begin(answered(stock, denied({.handed_on = true})));
    BOOST_TEST(!watch.awaits(watched::lock, 0, "stock"));
    BOOST_TEST(watch.awaits(watched::handovers, 0, "stock"));
    BOOST_TEST(!watch.awaits(watched::place, 0, "stock"));

    watch.begin(answered(stock, denied({.stands_by = true})));
    BOOST_TEST(watch.awaits(watched::place, 0, "stock"));

    watch.begin(answered(stock, denied({.behind_writer = true})));
    BOOST_TEST(watch.awaits(watched::wanted, 0, "stock"));
}

BOOST_FIXTURE_TEST_CASE(awaits_hand_overs_of_one_key_of_a_set, watching)
{
    locks::free_watch watch(set);
    watch.begin(answered(set, denied({.taken = {{0, 1s, false}, {1, 1s, true}}})));

    BOOST_TEST(watch.awaits(watched::lock, 0, "a"));
    BOOST_TEST(!watch.awaits(watched::handovers, 0, "a"));
    BOOST_TEST(watch.awaits(watched::handovers, 0, "b"));
}

// A node grants a set when the last of its keys is free.
BOOST_FIXTURE_TEST_CASE(free_at_of_a_set_is_the_end_of_its_last_key, watching)
{
    locks::free_watch watch(set);
    watch.begin(answered(set, denied({.watched = true, .taken = {{0, 1s}, {1, 5s}}})));
    watch.read_votes(w.now);

    BOOST_TEST((watch.free_at() == w.now + 5s + 2ms));
    for (auto const node : {0u, 1u, 2u})
        BOOST_TEST(watch.may_be_free(watched::lock, node, "b"));
    BOOST_TEST((watch.free_at() == w.now + 1s + 2ms));
}

BOOST_FIXTURE_TEST_CASE(free_at_of_any_is_the_end_of_its_first_key, watching)
{
    auto const any = request_of_any({"a", "b"});
    locks::free_watch watch(any);
    watch.begin(answered(any, denied({.watched = true, .taken = {{0, 1s}, {1, 5s}}})));
    watch.read_votes(w.now);

    BOOST_TEST((watch.free_at() == w.now + 1s + 2ms));
}

BOOST_FIXTURE_TEST_CASE(free_at_of_a_key_without_end_is_unknown, watching)
{
    locks::free_watch watch(stock);
    watch.begin(answered(stock, denied({.remaining = -1ms, .watched = true})));
    watch.read_votes(w.now);

    BOOST_TEST((watch.free_at() == never));
}

BOOST_FIXTURE_TEST_CASE(needs_taken_keys_and_those_that_are_kept, watching)
{
    locks::free_watch watch(set);
    watch.begin(answered(set, denied({.taken = {{1, 1s}}, .ours = 1})));

    BOOST_TEST(watch.needs("b", false));
    BOOST_TEST(!watch.needs("a", false));
    BOOST_TEST(watch.needs("a", true));
}

// A node that notifies again and again of nothing must not make the client ask in a circle.
BOOST_FIXTURE_TEST_CASE(not_before_grows_while_notifications_are_vain, watching)
{
    auto held = w.acquire(*other, "stock", {.ttl = 30s});
    locks::free_watch watch(stock);

    for (int i = 0; i < 3; ++i) {
        ask(watch, stock);
        BOOST_TEST((watch.not_before() == w.now + core::time_between_vain(static_cast<std::size_t>(i))));
    }
    w.release(held, 1ms);
    auto const next = w.acquire(*other, "stock", {.ttl = 30s});
    ask(watch, stock);
    BOOST_TEST((watch.not_before() == w.now));
}

BOOST_AUTO_TEST_SUITE_END()
