// The steps before an acquisition asks the nodes: `locks::preparation`, without an acquisition.

#include "locks/preparation.hpp"
#include "support/acquisition_parts.hpp"

using namespace redlock;
using namespace redlock::test;
using step = locks::preparation::step;

BOOST_AUTO_TEST_SUITE(preparation)

namespace {

struct unconnected {
    void connect() { gather(w, *quorum::make_round(state->quorum, quorum::to_connect(state->quorum))); }

    lock_world w{3};
    std::unique_ptr<lock_manager> manager = w.manager();
    std::shared_ptr<locks::manager_state> state = detail::access::state_of(*manager);
    locks::preparation steps{state->quorum.nodes};
};

struct connected_to_new_nodes : unconnected {
    connected_to_new_nodes()
    {
        w.each([&](auto& s) { s.be_new(w.now - 100ms); });
        connect();
    }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(next_connects_once, unconnected)
{
    BOOST_TEST((steps.next(w.now) == step::connect));
    steps.connects();
    BOOST_TEST((steps.next(w.now) == step::none));
}

BOOST_FIXTURE_TEST_CASE(next_does_not_connect_if_the_nodes_have_been_met, unconnected)
{
    connect();

    BOOST_TEST((steps.next(w.now) == step::none));
}

BOOST_FIXTURE_TEST_CASE(next_founds_a_new_set_once, connected_to_new_nodes)
{
    BOOST_TEST((steps.next(w.now) == step::found));
    steps.founds();
    BOOST_TEST((steps.next(w.now) == step::let_found));
}

BOOST_FIXTURE_TEST_CASE(next_lets_another_manager_found_until_it_has, connected_to_new_nodes)
{
    steps.founds();
    steps.lets_found(w.now);
    w.each([](auto& s) { s.be_founded(); });
    w.run_for(1ms);

    BOOST_TEST((steps.next(w.now) == step::none));
}

BOOST_FIXTURE_TEST_CASE(lets_found_for_the_time_of_a_vote, connected_to_new_nodes)
{
    steps.founds();
    auto const begun = w.now;
    auto const end = begun + state->quorum.nodes.longest_timeout();

    BOOST_TEST((steps.lets_found(begun) == begun + 20ms));
    BOOST_TEST((steps.next(end - 1ms) == step::let_found));
    BOOST_TEST((steps.lets_found(end - 1ms) == end));
    BOOST_TEST((steps.next(end) == step::none));
}

BOOST_AUTO_TEST_SUITE_END()
