// The record of a server's memory, proved by chains of events. The script that ships runs in Lua 5.1.
//
// If nobody may found the set, restart_guard `automatic` and `strict` judge alike: the first case is for both.
//
// A chain has up to three events. Between two events time passes, and clients look or do not. After each event three
// kinds of clients judge: a client that comes late, one that was away, and one that stayed. Two things must hold:
// - No vote counts while the server has forgotten a lock that is valid.
// - No vote is refused without a reason that the rule names.
#include "record/chains.hpp"

#include "stores/redis/scripts.hpp"
#include "support/long_proof.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(record)

namespace {

using namespace redlock::test::record;

std::string shipped() { return std::string(redlock::stores::redis::record_script.source); }

// The script with a deliberate bug.
std::string with_bug(std::string_view before, std::string_view after)
{
    auto text = shipped();
    auto const at = text.find(before);
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, "the script has no \"" << before << '"');
    return text.replace(at, before.size(), after);
}

struct total {
    std::uint64_t chains = 0, votes = 0, refusals = 0;
    std::map<std::string_view, std::uint64_t> excluded;

    ~total()
    {
        BOOST_TEST_MESSAGE(chains << " chains, " << votes << " votes, " << refusals << " refusals; by a limit:");
        for (auto const& [limit, count] : excluded)
            BOOST_TEST_MESSAGE("  " << count << " " << limit);
    }
};

void prove(total& all, settings s, start from, unsigned events)
{
    auto const found = explorer(s, from, shipped()).run(events);
    for (auto const& chain : found.two_holders)
        BOOST_ERROR("two holders: " << chain);
    for (auto const& chain : found.needless_refusals)
        BOOST_ERROR("a refusal without a reason: " << chain);
    all.chains += found.chains;
    all.votes += found.votes;
    all.refusals += found.refusals;
    for (auto const& [limit, count] : found.excluded)
        all.excluded[limit] += count;
}

// Short chains first, so that the chain that is printed has no event that is not needed.
findings search(std::string const& script, settings s, start from)
{
    findings found;
    for (unsigned events = 1; events <= 3 && found.is_clean(); ++events)
        found = explorer(s, from, script, 1).run(events);
    return found;
}

void expect_two_holders(std::string const& script, settings s, start from)
{
    auto const found = search(script, s, from);
    BOOST_TEST(!found.two_holders.empty());
    for (auto const& chain : found.two_holders)
        BOOST_TEST_MESSAGE("two holders: " << chain);
}

void expect_refusal(std::string const& script, settings s, start from)
{
    auto const found = search(script, s, from);
    BOOST_TEST(!found.needless_refusals.empty());
    for (auto const& chain : found.needless_refusals)
        BOOST_TEST_MESSAGE("a refusal without a reason: " << chain);
}

constexpr auto starts = {start::durable, start::in_memory, start::everysec, start::replicated};

}  // namespace

BOOST_AUTO_TEST_CASE(record_in_every_chain_among_old_servers_keeps_locks_and_votes)
{
    total all;
    for (auto const from : starts) {
        for (bool const watched : {false, true})
            prove(all, {.is_watched = watched, .rest = others::old}, from, 3);
    }
    BOOST_TEST(all.chains > 500'000u);
    BOOST_TEST(all.votes > 150'000u);
    BOOST_TEST(all.refusals > 900'000u);
}

// Short chains only, unless REDLOCK_LONG=1: the other chains differ from those above by the founding alone.
BOOST_AUTO_TEST_CASE(record_in_every_chain_of_a_set_that_is_founded_keeps_locks_and_votes)
{
    total all;
    for (auto const from : starts) {
        for (bool const watched : {false, true}) {
            unsigned const brief = from == start::durable || from == start::in_memory ? 3 : 2;
            prove(all, {.is_watched = watched, .rest = others::new_}, from, redlock::test::pick(brief, 3u));
        }
    }
    BOOST_TEST(all.chains > 150'000u);
    BOOST_TEST(all.votes > 120'000u);
}

BOOST_AUTO_TEST_CASE(record_in_every_chain_while_other_servers_are_away_keeps_locks)
{
    total all;
    for (auto const from : starts)
        prove(all, {.rest = others::away}, from, 2);
    BOOST_TEST(all.votes > 1'500u);
}

BOOST_AUTO_TEST_CASE(record_in_every_chain_of_a_cluster_keeps_locks_and_votes)
{
    total all;
    prove(all, {.in_cluster = true}, start::cluster, 3);
    BOOST_TEST(all.chains > 8'000u);
    BOOST_TEST(all.votes > 3'500u);
}

// Deliberate bugs: the search finds a chain for each

BOOST_AUTO_TEST_CASE(record_without_comparing_signatures_gives_two_holders)
{
    auto const script =
        with_bug("local same = word and string.match(lives, '^%w+') == run and (its_past == past or not promoted)",
                 "local same = word");
    expect_two_holders(script, {}, start::replicated);
    expect_two_holders(with_bug("(its_past == past or not promoted)", "true"), {}, start::durable);
}

BOOST_AUTO_TEST_CASE(record_without_the_age_of_its_word_is_refused_or_gives_two_holders)
{
    expect_refusal(with_bug("text, 'KEEPTTL')", "text, 'PX', ARGV[1])"), {}, start::durable);
    expect_two_holders(with_bug("'SET', KEYS[1], text, 'PX', ARGV[1]", "'SET', KEYS[1], text, 'PX', ARGV[1] - 90000"),
                       {}, start::in_memory);
}

BOOST_AUTO_TEST_CASE(record_without_the_wait_for_a_switched_off_log_gives_two_holders)
{
    expect_two_holders(with_bug("wait, state = left, 's'", "wait, state = 0, 's'"), {}, start::durable);
    expect_two_holders(with_bug("wait, state = left, 's'", "wait = left"), {}, start::durable);
}

BOOST_AUTO_TEST_CASE(record_whose_signature_replicas_do_not_revoke_gives_two_holders)
{
    expect_two_holders(with_bug("elseif copied then left = 0", "elseif copied then"), {}, start::durable);
}

BOOST_AUTO_TEST_CASE(record_that_does_not_tell_of_replicas_gives_two_holders)
{
    expect_two_holders(with_bug("copied and 'c' or '-'", "'-'"), {}, start::replicated);
}

BOOST_AUTO_TEST_CASE(record_that_believes_a_log_in_its_first_rewrite_gives_two_holders)
{
    expect_two_holders(with_bug("on and not rewrites and", "on and"), {}, start::durable);
}

BOOST_AUTO_TEST_CASE(record_that_believes_a_log_that_was_off_gives_two_holders)
{
    expect_two_holders(with_bug("local restored = state == 'd' and", "local restored ="), {}, start::durable);
}

BOOST_AUTO_TEST_CASE(record_without_a_limit_of_its_signature_gives_two_holders)
{
    expect_two_holders(with_bug("left > 0 and left <= holds and read", "read"), {}, start::durable);
}

BOOST_AUTO_TEST_CASE(record_that_is_revoked_by_a_rewrite_is_refused)
{
    expect_refusal(with_bug("local off = not on", "local off = rewrites or not on"), {}, start::durable);
}

BOOST_AUTO_TEST_CASE(record_that_never_believes_a_restart_is_refused)
{
    expect_refusal(with_bug("local restored = ", "local restored = false and "), {}, start::durable);
}

BOOST_AUTO_TEST_CASE(record_that_begins_anew_with_the_first_replica_is_refused)
{
    expect_refusal(with_bug("'^%w+') == run", "'^%w+') == run and copies('connected_slaves') == '0'"), {},
                   start::in_memory);
}

BOOST_AUTO_TEST_CASE(record_founded_while_other_servers_are_away_gives_two_holders)
{
    expect_two_holders(shipped(), {.rest = others::away, .founds_without_others = true}, start::in_memory);
}

BOOST_AUTO_TEST_CASE(record_with_old_slots_of_dead_masters_gives_two_holders)
{
    expect_two_holders(with_bug("(now[2] or now[1] or came)", "(now[2] or now[1] or 0)"), {.in_cluster = true},
                       start::cluster);
}

BOOST_AUTO_TEST_CASE(record_that_ignores_vouched_slots_is_refused)
{
    expect_refusal(with_bug("(now[2] or now[1] or came)", "(now[1] or came)"), {.in_cluster = true}, start::cluster);
}

BOOST_AUTO_TEST_SUITE_END()
