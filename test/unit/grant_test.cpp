#include "quorum/grant.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>

using namespace redlock;
using quorum::grant;

BOOST_AUTO_TEST_SUITE(grants)

namespace {

/// One request to the second of three nodes.
struct asked {
    explicit asked(commands::variant what, bool is_trim = false) : command{.what = what}, trims(is_trim) {}

    void sent(std::uint32_t connection)
    {
        about.sent({.command = command, .node = node, .sent_on = sent_on, .trims = trims}, connection);
        sent_on = connection;
    }
    void answered(node_reply const& r)
    {
        about.answered({.command = command, .node = node, .sent_on = sent_on, .trims = trims}, r);
    }
    grant::trace const& trace() const { return about.on(node); }

    static constexpr std::size_t node = 1;
    grant about{{"lock:stock"}, "token", 3};
    node_command command;
    bool trims;
    std::uint32_t sent_on = 0;
};

node_reply const granted{.vote = vote::granted}, denied{.vote = vote::denied}, lost{}, untouched{.untouched = true};

}  // namespace

BOOST_AUTO_TEST_CASE(sent_acquisition_may_hold_the_keys_until_it_is_denied)
{
    asked a(commands::acquire{});
    BOOST_TEST(!a.about.may_hold(1));

    a.sent(5);
    BOOST_TEST((a.trace().sent_on == 5 && a.trace().is_unknown()));
    BOOST_TEST((a.about.may_hold(1) && !a.about.may_hold(0) && !a.about.may_hold(2)));

    a.answered(denied);
    BOOST_TEST(!a.about.may_hold(1));
}

BOOST_AUTO_TEST_CASE(answered_acquisition_without_a_vote_may_hold_keys_unless_untouched)
{
    asked a(commands::acquire{});
    a.sent(5);
    a.answered(lost);
    BOOST_TEST(a.about.may_hold(1));

    asked b(commands::acquire{});
    b.sent(5);
    b.answered(untouched);
    BOOST_TEST(!b.about.may_hold(1));
}

BOOST_AUTO_TEST_CASE(sent_extension_counts_once_until_it_is_answered)
{
    asked a(commands::extend{});
    a.sent(5);
    a.sent(6);  // the node had refused it, and sends it again
    BOOST_TEST((a.trace().extensions == 1 && a.trace().repeats == 0 && a.trace().sent_on == 0));

    a.answered(denied);
    BOOST_TEST((a.trace().extensions == 0 && a.trace().lacks_keys));
}

BOOST_AUTO_TEST_CASE(answered_extension_without_a_vote_counts_on)
{
    asked a(commands::extend{});
    a.sent(5);
    a.answered(lost);
    BOOST_TEST((a.trace().extensions == 1 && !a.trace().lacks_keys));
    BOOST_TEST(a.about.unanswered_on(1) == 0u);  // it cannot set a key again
}

BOOST_AUTO_TEST_CASE(answered_renewal_without_a_vote_notes_the_first_connection)
{
    asked a(commands::extend{.heal = true});
    a.sent(5);
    BOOST_TEST(a.trace().repeats == 1u);

    a.answered(lost);
    BOOST_TEST((a.trace().repeats == 0 && a.about.unanswered_on(1) == 5 && a.about.unanswered_on(0) == 0));

    a.sent_on = 0;
    a.sent(7);
    a.answered(lost);
    BOOST_TEST(a.about.unanswered_on(1) == 5u);
}

BOOST_AUTO_TEST_CASE(answered_request_that_was_not_sent_changes_nothing)
{
    asked a(commands::extend{.heal = true});
    a.answered(denied);
    BOOST_TEST((a.trace().repeats == 0 && a.trace().extensions == 0 && !a.trace().lacks_keys));
}

BOOST_AUTO_TEST_CASE(sent_trim_is_noted_with_its_connection_until_it_is_answered)
{
    asked a(commands::release{}, true);
    a.about.grow();
    a.sent(5);
    BOOST_TEST((a.about.has_trims_unanswered() && a.about.trimmed_on(1) == 5 && a.about.trimmed_on(0) == 0));

    a.answered(lost);
    BOOST_TEST(a.about.has_trims_unanswered());

    a.answered(granted);
    BOOST_TEST((!a.about.has_trims_unanswered() && a.about.trimmed_on(1) == 0));
}

BOOST_AUTO_TEST_CASE(sent_acquisition_that_grows_may_hold_the_keys_also_after_a_denial)
{
    asked a(commands::acquire{.grows = true});
    a.about.grow();
    a.sent(5);
    a.answered(denied);
    BOOST_TEST((a.about.may_hold(1) && !a.about.may_hold(0)));
}

BOOST_AUTO_TEST_SUITE_END()
