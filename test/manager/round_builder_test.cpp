// The questions of an acquisition to the nodes: `locks::round_builder`, without an acquisition.

#include "locks/round_builder.hpp"
#include "support/acquisition_parts.hpp"

#include "core/growth.hpp"
#include "locks/local_turn.hpp"
#include "locks/token_draw.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(round_builder)

namespace {

/// A request, and the parts that decide what it asks.
struct asker {
    asker(acquisition_parts& in, locks::acquire_request r)
        : request(std::move(r)), turn(request, in.w.now), draw(*in.state, request.resources())
    {
    }

    std::vector<std::string> names_of_next()
    {
        auto const r = builder.next(nullptr);
        std::vector<std::string> names;
        for (auto const& key : r->command.keys)
            names.emplace_back(request.name_of(key));
        return names;
    }

    locks::acquire_request const request;
    locks::local_turn turn;
    locks::token_draw draw;
    locks::round_builder builder{request, turn, draw};
};

struct fenced : acquisition_parts {
    fenced() : acquisition_parts({.fencing = true}) {}
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(next_is_plain_at_first, acquisition_parts)
{
    asker a(*this, request("stock", {.ttl = 12s}));

    auto const r = a.builder.next(nullptr);
    BOOST_TEST((r->command.which() == kind::acquire));
    BOOST_TEST(r->command.key() == "lock:stock");
    BOOST_TEST((r->command.ttl == 12s));
    BOOST_TEST(!r->command.contends());
    BOOST_TEST(!r->command.watches());
    BOOST_TEST(r->command.fence() == 0u);
    BOOST_TEST(a.builder.rounds() == 1u);
}

BOOST_FIXTURE_TEST_CASE(next_after_a_lost_round_contends_and_watches, acquisition_parts)
{
    asker a(*this, request("stock"));
    auto const first = a.builder.next(nullptr), second = a.builder.next(nullptr);

    BOOST_TEST(second->command.contends());
    BOOST_TEST(second->command.watches());
    BOOST_TEST(!second->grant()->hands_over);
}

// Rule 5.
BOOST_FIXTURE_TEST_CASE(next_has_a_fresh_value_for_every_round, acquisition_parts)
{
    asker a(*this, request("stock"));
    auto const first = a.builder.next(nullptr), second = a.builder.next(nullptr);

    BOOST_TEST(first->grant()->value != second->grant()->value);
}

BOOST_FIXTURE_TEST_CASE(next_of_one_that_had_to_queue_hands_over, acquisition_parts)
{
    asker a(*this, request("stock")), set(*this, request({"a", "b"}));
    counting_waiter in_front(*this, a.request), waiter(*this, a.request);
    counting_waiter in_front_of_set(*this, set.request), waiting_set(*this, set.request);
    a.turn.enter(waiter.place());
    set.turn.enter(waiting_set.place());
    a.turn.give_way(w.now);
    set.turn.give_way(w.now);

    auto const r = a.builder.next(nullptr);
    BOOST_TEST(r->command.contends());
    BOOST_TEST(!r->command.watches());
    BOOST_TEST(r->grant()->hands_over);
    BOOST_TEST(!set.builder.next(nullptr)->grant()->hands_over);
}

BOOST_FIXTURE_TEST_CASE(next_of_a_growing_set_keeps_its_value, acquisition_parts)
{
    asker a(*this, request({"a", "b"}));
    auto const growing = std::make_shared<quorum::grant>(a.request.keys(), "a value", 3);

    auto const r = a.builder.next(growing);
    BOOST_TEST((r->grant() == growing));
    BOOST_TEST(r->command.grows());
}

BOOST_FIXTURE_TEST_CASE(next_of_a_reader_is_shared, acquisition_parts)
{
    asker reader(*this, request("stock", {.mode = mode::shared})), writer(*this, request("stock"));

    BOOST_TEST(reader.builder.next(nullptr)->command.is_shared());
    BOOST_TEST(!writer.builder.next(nullptr)->command.is_shared());
}

// A reader takes the number that is there.
BOOST_FIXTURE_TEST_CASE(next_proposes_a_token_for_a_writer, fenced)
{
    asker reader(*this, request("stock", {.mode = mode::shared})), writer(*this, request("stock"));

    BOOST_TEST(reader.builder.next(nullptr)->command.fence() == 1u);
    BOOST_TEST(writer.builder.next(nullptr)->command.fence() > 1u);
}

BOOST_FIXTURE_TEST_CASE(next_of_any_leaves_out_what_the_manager_holds, acquisition_parts)
{
    auto held = w.acquire(*ours, "b");
    asker a(*this, request_of_any({"a", "b", "c"}));

    auto names = a.names_of_next();
    std::ranges::sort(names);
    BOOST_TEST(names == (std::vector<std::string>{"a", "c"}), boost::test_tools::per_element());
    w.release(held, 1ms);
    BOOST_TEST(a.names_of_next().size() == 3u);
}

BOOST_FIXTURE_TEST_CASE(next_of_any_asks_for_all_if_none_is_left, acquisition_parts)
{
    auto const held = w.acquire(*ours, {"a", "b"});
    asker a(*this, request_of_any({"a", "b"}));

    BOOST_TEST(a.names_of_next().size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(prefer_others_puts_what_a_node_chose_last, acquisition_parts)
{
    asker a(*this, request_of_any({"a", "b", "c"}));
    auto const first = a.builder.next(nullptr);
    auto const chosen = std::string(a.request.name_of(first->command.keys.front()));
    first->ballots[0].complete({.vote = vote::granted, .chosen = 0});
    first->ballots[1].complete({.vote = vote::granted, .chosen = 1});

    a.builder.prefer_others(*first);
    auto const names = a.names_of_next();
    BOOST_TEST(names.size() == 3u);
    BOOST_TEST(names.back() == chosen);
}

BOOST_FIXTURE_TEST_CASE(should_grow_when_a_set_that_waits_has_lost_often, acquisition_parts)
{
    asker set(*this, request({"a", "b"})), single(*this, request("a")), impatient(*this, request({"a", "b"}));
    counting_waiter waiter(*this, set.request), behind(*this, single.request);
    set.turn.enter(waiter.place());
    single.turn.enter(behind.place());

    for (std::size_t i = 0; i < core::all_or_nothing; ++i) {
        BOOST_TEST(!set.builder.should_grow());
        for (auto* const a : {&set, &single, &impatient})
            a->builder.lost_to_others();
    }
    BOOST_TEST(set.builder.should_grow());
    BOOST_TEST(!single.builder.should_grow());
    BOOST_TEST(!impatient.builder.should_grow());
}

BOOST_AUTO_TEST_SUITE_END()
