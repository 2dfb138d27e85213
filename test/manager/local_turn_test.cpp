// Whether an acquisition may ask the nodes, as far as its own manager knows: `locks::local_turn`, without an
// acquisition.

#include "locks/local_turn.hpp"
#include "support/acquisition_parts.hpp"

#include "core/handovers.hpp"
#include "locks/free_watch.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(local_turn)

namespace {

constexpr auto never = clock::time_point::max();

/// A request, its place in the queues of the manager, and its turn.
struct queued {
    queued(acquisition_parts& in, locks::acquire_request r)
        : request(std::move(r)), waiter(in, request), turn(request, in.w.now)
    {
        turn.enter(waiter.place());
    }

    locks::acquire_request const request;
    counting_waiter waiter;
    locks::local_turn turn;
};

struct turns_of_a_manager : acquisition_parts {
    queued enter(resource_set names, acquire_options const& options = {})
    {
        return queued(*this, request(std::move(names), options));
    }

    locks::acquire_request const stock = request("stock"), any = request_of_any({"a", "b"});
    locks::acquire_request const reader = request("stock", {.mode = mode::shared});
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(give_way_without_a_place_lets_nobody_come_first, turns_of_a_manager)
{
    auto const held = w.acquire(*ours, "stock");
    locks::local_turn turn(stock, w.now);

    BOOST_TEST(!turn.give_way(w.now).has_value());
}

BOOST_FIXTURE_TEST_CASE(give_way_waits_for_those_before_it_in_the_queue, turns_of_a_manager)
{
    auto first = enter("stock"), second = enter("stock");

    BOOST_TEST(!first.turn.give_way(w.now).has_value());
    BOOST_TEST(!first.turn.history().queued);
    BOOST_TEST((second.turn.give_way(w.now) == never));
    BOOST_TEST(second.turn.history().queued);
    BOOST_TEST(first.turn.history().others_queue);
    first.waiter.leave();
    BOOST_TEST(!second.turn.give_way(w.now).has_value());
}

BOOST_FIXTURE_TEST_CASE(give_way_waits_for_the_holder_and_tells_those_behind, turns_of_a_manager)
{
    auto const held = w.acquire(*ours, "stock", {.ttl = 30s});
    auto first = enter("stock"), second = enter("stock");

    BOOST_TEST((first.turn.give_way(w.now) == held.held.valid_until()));
    BOOST_TEST(first.turn.history().queued);
    BOOST_TEST((second.waiter.place().met() == make_error_code(errc::contended)));
}

BOOST_FIXTURE_TEST_CASE(give_way_yields_to_other_managers, turns_of_a_manager)
{
    auto first = enter("stock");
    state->waiters.others_want(stock.names(), 10ms, false, w.now, 0);
    state->waiters.freed("stock", w.now);

    auto const until = first.turn.give_way(w.now);
    BOOST_REQUIRE(until.has_value());
    BOOST_TEST((*until > w.now));
    BOOST_TEST(first.turn.history().yielded);
    BOOST_TEST(!first.turn.history().queued);
    BOOST_TEST(!first.turn.give_way(*until).has_value());
}

BOOST_FIXTURE_TEST_CASE(give_way_of_any_goes_on_while_one_resource_is_left, turns_of_a_manager)
{
    queued both(*this, any);
    auto const a = w.acquire(*ours, "a", {.ttl = 20s});
    BOOST_TEST(!both.turn.give_way(w.now).has_value());

    auto const b = w.acquire(*ours, "b", {.ttl = 30s});
    BOOST_TEST((both.turn.give_way(w.now) == a.held.valid_until()));
    BOOST_TEST((both.turn.first_held_until() == a.held.valid_until()));
}

BOOST_FIXTURE_TEST_CASE(kept_from_tells_which_of_several_it_may_ask_for, turns_of_a_manager)
{
    auto before = enter("a");
    queued both(*this, any);
    auto const b = w.acquire(*ours, "b", {.ttl = 30s});

    BOOST_TEST((both.turn.kept_from(0, w.now) == never));
    BOOST_TEST((both.turn.kept_from(1, w.now) == b.held.valid_until()));
    before.waiter.leave();
    BOOST_TEST(!both.turn.kept_from(0, w.now).has_value());
}

BOOST_FIXTURE_TEST_CASE(another_choice_at_is_when_a_resource_becomes_free, turns_of_a_manager)
{
    queued both(*this, any);
    auto held = w.acquire(*ours, "b", {.ttl = 30s});
    auto const asked_for_one = round_for(request("a")), asked_for_all = round_for(any);

    BOOST_TEST((both.turn.another_choice_at(*asked_for_one, w.now) == held.held.valid_until()));
    BOOST_TEST((both.turn.another_choice_at(*asked_for_all, w.now) == never));
    w.release(held, 1ms);
    BOOST_TEST((both.turn.another_choice_at(*asked_for_one, w.now) == w.now));
}

BOOST_FIXTURE_TEST_CASE(keeps_reader_out_without_a_place_if_a_writer_waits, turns_of_a_manager)
{
    locks::local_turn const turn(reader, w.now);
    BOOST_TEST(!turn.keeps_reader_out(false));

    auto writer = enter("stock");
    BOOST_TEST(turn.keeps_reader_out(false));
    writer.waiter.place().stops();
    BOOST_TEST(!turn.keeps_reader_out(false));
}

BOOST_FIXTURE_TEST_CASE(keeps_reader_out_at_the_end_of_its_wait_if_held, turns_of_a_manager)
{
    auto const held = w.acquire(*ours, "stock");
    queued in_queue(*this, reader);

    BOOST_TEST(!in_queue.turn.keeps_reader_out(false));
    BOOST_TEST(in_queue.turn.keeps_reader_out(true));
}

BOOST_FIXTURE_TEST_CASE(join_shares_the_lock_of_a_reader, turns_of_a_manager)
{
    auto const held = w.acquire(*ours, "stock", {.ttl = 30s, .mode = mode::shared});

    BOOST_TEST((locks::local_turn(reader, w.now).join() != nullptr));
    BOOST_TEST((locks::local_turn(stock, w.now).join() == nullptr));
    BOOST_TEST((locks::local_turn(request("another", {.mode = mode::shared}), w.now).join() == nullptr));
}

BOOST_FIXTURE_TEST_CASE(join_waits_for_those_before_it_in_the_queue, turns_of_a_manager)
{
    auto const held = w.acquire(*ours, "stock", {.ttl = 30s, .mode = mode::shared});
    auto writer = enter("stock");
    queued in_queue(*this, reader);

    BOOST_TEST((in_queue.turn.join() == nullptr));
    writer.waiter.leave();
    BOOST_TEST((in_queue.turn.join() != nullptr));
}

BOOST_FIXTURE_TEST_CASE(denied_by_a_holder_lets_a_reader_pass_writers, turns_of_a_manager)
{
    queued in_queue(*this, reader);
    BOOST_TEST(!in_queue.turn.passes_writers());

    in_queue.turn.denied(*answered(reader, {.vote = vote::denied, .behind_writer = true}), w.now);
    BOOST_TEST(!in_queue.turn.passes_writers());
    in_queue.turn.denied(*answered(reader, {.vote = vote::denied}), w.now);
    BOOST_TEST(in_queue.turn.passes_writers());
}

BOOST_FIXTURE_TEST_CASE(let_others_pass_while_a_set_waits_up_to_a_limit, turns_of_a_manager)
{
    auto set = enter({"a", "b"});
    locks::free_watch watch(set.request);
    watch.begin(answered(set.request, {.vote = vote::denied, .taken = {{1, 1s}}}));
    for (std::size_t i = 0; i < core::passes_max; ++i) {
        auto single = enter("a");
        set.turn.let_others_pass(watch, false);
        BOOST_TEST(single.waiter.place().first());
    }

    auto one_more = enter("a");
    set.turn.let_others_pass(watch, false);
    BOOST_TEST(!one_more.waiter.place().first());
}

BOOST_FIXTURE_TEST_CASE(let_others_pass_keeps_what_the_set_awaits, turns_of_a_manager)
{
    auto set = enter({"a", "b"});
    auto awaited = enter("b");
    auto const held = w.acquire(*ours, "a");
    auto held_here = enter("a");
    locks::free_watch watch(set.request);
    watch.begin(answered(set.request, {.vote = vote::denied, .taken = {{1, 1s}}}));

    set.turn.let_others_pass(watch, false);
    BOOST_TEST(!awaited.waiter.place().first());
    BOOST_TEST(!held_here.waiter.place().first());
}

// Others have passed the set for "a", which it does not await.
BOOST_FIXTURE_TEST_CASE(is_overtaken_only_for_what_the_set_awaits, turns_of_a_manager)
{
    auto set = enter({"a", "b"});
    auto const awaits_b = answered(set.request, {.vote = vote::denied, .taken = {{1, 1s}}});
    auto const awaits_a = answered(set.request, {.vote = vote::denied, .taken = {{0, 1s}}});
    locks::free_watch watch(set.request);
    watch.begin(awaits_b);
    auto single = enter("a");
    set.turn.let_others_pass(watch, false);

    BOOST_TEST(set.turn.is_behind());
    BOOST_TEST(!set.turn.is_overtaken(*awaits_b));
    BOOST_TEST(set.turn.is_overtaken(*awaits_a));
}

BOOST_AUTO_TEST_SUITE_END()
