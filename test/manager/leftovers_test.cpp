// The keys that the rounds of an acquisition may have left: `locks::leftovers`, without an acquisition.

#include "locks/leftovers.hpp"
#include "support/acquisition_parts.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(leftovers)

namespace {

struct rounds_and_their_keys : acquisition_parts {
    /// Another client has @p key on @p servers.
    void set_key_of_a_rival(std::string const& key, std::vector<std::size_t> const& servers)
    {
        for (auto const i : servers)
            w[i].entries[key] = {"a rival", w.now + 30s};
    }

    std::size_t keys_of(quorum::round const& r, std::string const& key) { return w.held_by(key, r.grant()->value); }

    std::size_t withdrawals()
    {
        w.run_for(1ms);
        return w[0].count(kind::withdraw);
    }

    /// A round of the set that grows, decided.
    std::shared_ptr<quorum::round> grow(locks::leftovers& all)
    {
        all.grow();
        quorum::round_command extended(commands::acquire{.watch = true}, all.growing(), set.options.ttl);
        extended.contend(state->quorum.contender, false);
        extended.grow();
        auto const asked = quorum::make_round(state->quorum, std::move(extended));
        all.may_be_left_by(*asked);
        gather(*asked);
        return asked;
    }

    locks::acquire_request const stock = request("stock"), set = request({"a", "b"});
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(round_was_lost_releases_what_the_round_set, rounds_and_their_keys)
{
    set_key_of_a_rival("lock:stock", {0, 1});
    locks::leftovers all(stock);
    auto const lost = round_for(stock);
    all.may_be_left_by(*lost);
    gather(*lost);
    BOOST_TEST(keys_of(*lost, "lock:stock") == 1u);
    BOOST_TEST(all.unsettled());

    all.round_was_lost(*lost);
    BOOST_TEST(!all.unsettled());
    w.run_for(1ms);
    BOOST_TEST(keys_of(*lost, "lock:stock") == 0u);
    BOOST_TEST(w.held_by("lock:stock", "a rival") == 2u);
}

// Rule 6. The node carries out the request, and its answer does not come.
BOOST_FIXTURE_TEST_CASE(round_was_lost_releases_what_an_unknown_vote_set, rounds_and_their_keys)
{
    set_key_of_a_rival("lock:stock", {0, 1});
    w[2].mute = true;
    locks::leftovers all(stock);
    auto const lost = round_for(stock);
    all.may_be_left_by(*lost);
    gather(*lost);

    all.round_was_lost(*lost);
    w.run_for(1ms);
    BOOST_TEST(keys_of(*lost, "lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(are_won_leaves_the_keys_to_the_lock, rounds_and_their_keys)
{
    locks::leftovers all(stock);
    auto const won = round_for(stock);
    all.may_be_left_by(*won);
    gather(*won);

    all.are_won();
    BOOST_TEST(!all.unsettled());
    w.run_for(1ms);
    BOOST_TEST(keys_of(*won, "lock:stock") == 3u);
}

BOOST_FIXTURE_TEST_CASE(round_was_lost_keeps_the_keys_of_a_growing_set, rounds_and_their_keys)
{
    set_key_of_a_rival("lock:b", {0, 1, 2});
    locks::leftovers all(set);
    auto const lost = grow(all);

    all.round_was_lost(*lost);
    w.run_for(1ms);
    BOOST_TEST(all.unsettled());
    BOOST_TEST(keys_of(*lost, "lock:a") == 3u);
}

// A key on a minority only keeps others out.
BOOST_FIXTURE_TEST_CASE(round_was_lost_trims_what_a_minority_keeps, rounds_and_their_keys)
{
    set_key_of_a_rival("lock:a", {0, 1});
    locks::leftovers all(set);
    auto const lost = grow(all);
    BOOST_TEST(keys_of(*lost, "lock:a") == 1u);

    all.round_was_lost(*lost);
    w.run_for(1ms);
    BOOST_TEST(keys_of(*lost, "lock:a") == 0u);
    BOOST_TEST(keys_of(*lost, "lock:b") == 0u);
}

BOOST_FIXTURE_TEST_CASE(grow_keeps_one_value_for_all_rounds, rounds_and_their_keys)
{
    locks::leftovers all(set);
    BOOST_TEST((all.growing() == nullptr));

    all.grow();
    auto const first = all.growing();
    all.grow();
    BOOST_TEST((all.growing() == first));
    BOOST_TEST(first->keys.size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(clean_up_releases_what_a_growing_set_has_kept, rounds_and_their_keys)
{
    set_key_of_a_rival("lock:b", {0, 1, 2});
    locks::leftovers all(set);
    auto const lost = grow(all);
    all.round_was_lost(*lost);

    all.clean_up(*lost);
    BOOST_TEST((all.growing() == nullptr));
    BOOST_TEST(!all.unsettled());
    w.run_for(1ms);
    BOOST_TEST(keys_of(*lost, "lock:a") == 0u);
}

BOOST_FIXTURE_TEST_CASE(withdraw_wishes_tells_the_nodes_once_they_may_have_noted, rounds_and_their_keys)
{
    locks::leftovers all(stock);
    all.withdraw_wishes();
    BOOST_TEST(withdrawals() == 0u);

    all.may_be_left_by(*round_for(stock));
    all.withdraw_wishes();
    BOOST_TEST(withdrawals() == 1u);
}

BOOST_FIXTURE_TEST_CASE(withdraw_wishes_keeps_those_of_other_waiters, rounds_and_their_keys)
{
    locks::leftovers all(set);
    all.may_be_left_by(*round_for(set));
    auto const single = request("a");
    counting_waiter another(*this, single);

    all.withdraw_wishes();
    BOOST_TEST(withdrawals() == 1u);
    BOOST_TEST(w[0].requests.back().key == "lock:b");
    another.leave();
    all.withdraw_wishes();
    BOOST_TEST(withdrawals() == 2u);
    BOOST_TEST(w[0].requests.back().keys == 2u);
}

BOOST_AUTO_TEST_SUITE_END()
