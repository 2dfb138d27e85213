#include "core/server_memory.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace redlock;
using namespace std::chrono_literals;
using core::beginning;

BOOST_AUTO_TEST_SUITE(server_memory)

namespace {

constexpr clock::time_point now{1000h};

core::memory_record record(char const* word, beginning began, std::chrono::milliseconds age)
{
    return {.word = word, .began = began, .age = age};
}

}  // namespace

BOOST_AUTO_TEST_CASE(told_of_an_old_word_dates_it_by_the_server)
{
    core::server_memory m;
    m.told(record("one", beginning::anew, 90s), now);
    BOOST_TEST((m.identity() == server_identity{.durable = false, .restarted = true, .began = now - 90s}));
    BOOST_TEST(m.word() == "one");
}

BOOST_AUTO_TEST_CASE(told_of_the_same_word_again_changes_nothing)
{
    core::server_memory m;
    m.told(record("one", beginning::anew, 90s), now);
    BOOST_TEST(!m.told(record("one", beginning::anew, 92s), now + 1s));  // the server's clock has jumped
    BOOST_TEST(!m.told(record("one", beginning::anew, 10s), now + 2s));
    BOOST_TEST((m.identity().began == now - 90s));
}

BOOST_AUTO_TEST_CASE(told_of_a_promoted_server_adds_the_time_to_follow)
{
    core::server_memory m;
    m.told(record("one", beginning::promoted, 90s), now);
    BOOST_TEST((m.identity().began == now - 80s));
    core::server_memory quick(3s);
    quick.told(record("one", beginning::promoted, 90s), now);
    BOOST_TEST((quick.identity().began == now - 87s));
}

BOOST_AUTO_TEST_CASE(told_of_a_fresh_word_is_new_until_it_is_founded)
{
    core::server_memory m;
    m.told(record("one", beginning::fresh, 0s), now);
    BOOST_TEST((m.identity() == server_identity{.durable = false, .fresh = true, .began = now}));
    BOOST_TEST(m.told(record("one", beginning::founded, 10ms), now + 10ms));
    BOOST_TEST((m.identity() == server_identity{.durable = false, .founded = true, .began = now}));
}

BOOST_AUTO_TEST_CASE(verdict_founds_only_the_word_that_has_said_again_that_it_is_new)
{
    core::server_memory m;
    m.told(record("one", beginning::fresh, 0s), now);
    BOOST_TEST(m.verdict(beginning::founded).empty());
    BOOST_TEST(m.says_again(60s, now));
    BOOST_TEST((m.verdict(beginning::founded) == "Fone"));
    m.told(record("one", beginning::fresh, 1s), now + 1s);
    BOOST_TEST((m.verdict(beginning::founded) == "Fone"));

    m.told(record("two", beginning::fresh, 0s), now + 2s);
    BOOST_TEST(m.verdict(beginning::founded).empty());
    BOOST_TEST(!m.says_again(60s, now + 2s));  // it has lost its memory
    BOOST_TEST(m.verdict(beginning::founded).empty());
}

BOOST_AUTO_TEST_CASE(says_again_of_a_word_that_votes_is_false)
{
    for (auto const began : {beginning::founded, beginning::in_old_set, beginning::anew, beginning::promoted}) {
        core::server_memory m;
        m.told(record("one", beginning::fresh, 0s), now);
        m.told(record("one", began, 10ms), now + 10ms);
        BOOST_TEST(!m.says_again(60s, now + 10ms));
    }
    core::server_memory m;
    m.told(record("one", beginning::fresh, 0s), now);
    m.told(record("one", beginning::fresh, 60s), now + 59s);  // the server's clock counts
    BOOST_TEST(!m.says_again(60s, now + 59s));
}

// Two connections ask: one before the founding, and its answer comes after the other's.
BOOST_AUTO_TEST_CASE(told_late_of_a_fresh_word_keeps_the_verdict)
{
    for (auto const verdict : {beginning::founded, beginning::in_old_set}) {
        core::server_memory m;
        auto with_life = [](beginning b, std::chrono::milliseconds age, char const* lives) {
            return core::memory_record{.word = "one", .began = b, .age = age, .lives = lives};
        };
        m.told(with_life(verdict, 20ms, "life1"), now + 20ms);
        auto const known = m.identity();
        BOOST_TEST(!m.told(with_life(beginning::fresh, 10ms, "life1"), now + 30ms));
        BOOST_TEST((m.identity() == known));
        // In another life, it is a copy of the data from before the verdict.
        m.told(with_life(beginning::fresh, 40ms, "life2,life1"), now + 40ms);
        BOOST_TEST((m.identity().restarted && !m.identity().founded));
    }
}

BOOST_AUTO_TEST_CASE(told_of_a_fresh_word_in_an_old_set_waits)
{
    core::server_memory m;
    BOOST_TEST(m.verdict(beginning::in_old_set).empty());
    m.told(record("one", beginning::fresh, 0s), now);
    BOOST_TEST((m.verdict(beginning::in_old_set) == "none"));
    BOOST_TEST(m.told(record("one", beginning::in_old_set, 10ms), now + 10ms));
    BOOST_TEST((m.identity() == server_identity{.durable = false, .began = now}));
}

BOOST_AUTO_TEST_CASE(told_of_a_fresh_word_after_another_one_knows_of_the_loss)
{
    core::server_memory m;
    m.told(record("one", beginning::founded, 1h), now);
    m.told(record("two", beginning::fresh, 0s), now + 1s);
    BOOST_TEST(
        (m.identity() == server_identity{.durable = false, .restarted = true, .fresh = true, .began = now + 1s}));
}

BOOST_AUTO_TEST_CASE(told_of_another_founded_word_waits_all_the_same)
{
    core::server_memory m;
    m.told(record("one", beginning::founded, 1h), now);
    m.told(record("two", beginning::founded, 2s), now + 1min);
    BOOST_TEST((m.identity() == server_identity{.durable = false, .restarted = true, .began = now + 1min - 2s}));
}

BOOST_AUTO_TEST_CASE(told_of_a_word_that_was_there_before_counts_from_now)
{
    core::server_memory m;
    m.told(record("one", beginning::anew, 1h), now);
    m.told(record("two", beginning::anew, 2h), now + 1s);  // another server is behind the address
    BOOST_TEST((m.identity().began == now + 1s));
    m.told(record("one", beginning::anew, 1h), now + 2s);
    BOOST_TEST((m.identity().began == now + 2s));
}

BOOST_AUTO_TEST_CASE(told_after_an_absence_dates_a_word_by_the_server)
{
    core::server_memory m;
    m.told(record("one", beginning::anew, 1h), now);
    m.told(record("two", beginning::anew, 90s), now + 10min);
    BOOST_TEST((m.identity().began == now + 10min - 90s));
}

BOOST_AUTO_TEST_CASE(told_of_an_older_copy_of_the_word_waits)
{
    core::server_memory m;
    auto const of_lives = [](char const* lives) {
        auto r = record("one", beginning::anew, 1h);
        r.lives = lives;
        return r;
    };
    m.told(of_lives("aaaaaaaaaa"), now);
    m.told(of_lives("bbbbbbbbbb,aaaaaaaa"), now + 1s);
    BOOST_TEST((m.identity().began == now - 1h));  // an ordinary restart
    m.told(of_lives("dddddddddd,cccccccc,bbbbbbbb,aaaaaaaa"), now + 1min);
    BOOST_TEST((m.identity().began == now - 1h));  // two restarts
    m.told(of_lives("eeeeeeeeee,bbbbbbbb,aaaaaaaa"), now + 2min);
    BOOST_TEST((m.identity().restarted && m.identity().began == now + 2min));
}

BOOST_AUTO_TEST_CASE(told_of_a_log_that_was_switched_off_waits_for_the_signature)
{
    core::server_memory m;
    auto r = record("one", beginning::founded, 1h);
    m.told(r, now);
    r.wait = 7s;
    BOOST_TEST(m.told(r, now));
    BOOST_TEST((m.identity()
                == server_identity{.durable = false, .founded = true, .began = now - 1h, .waits_until = now + 7s}));
    BOOST_TEST(!m.told(r, now + 1s));  // the time does not grow
    r.wait = 0s;
    BOOST_TEST(m.told(r, now + 2s));
    BOOST_TEST((m.identity() == server_identity{.durable = false, .founded = true, .began = now - 1h}));
}

BOOST_AUTO_TEST_CASE(told_by_another_process_that_ran_meanwhile_knows_of_both)
{
    auto const second = [](std::chrono::milliseconds up, std::chrono::milliseconds age, beginning began,
                           char const* life = "bbbbbbbbbb") {
        core::server_memory m;
        auto first = record("one", beginning::anew, 1h);
        first.lives = "aaaaaaaaaa";
        m.told(first, now);
        auto other = record("two", began, age);
        other.lives = life;
        other.up = up;
        m.told(other, now + 10s);
        return m.shared_at();
    };
    auto const shared = std::optional(now + 10s);
    BOOST_TEST((second(1h, 0s, beginning::fresh) == shared));
    BOOST_TEST((second(16s, 0s, beginning::fresh) == shared));
    BOOST_TEST((second(15s, 0s, beginning::fresh) == std::nullopt));  // it may have started after the last answer
    BOOST_TEST((second(1h, 1s, beginning::promoted) == std::nullopt));
    BOOST_TEST((second(1h, 1min, beginning::promoted) == shared));
    BOOST_TEST((second(1h, 0s, beginning::anew, "aaaaaaaaaa") == std::nullopt));  // the same process: FLUSHALL
    BOOST_TEST((second(0s, 1h, beginning::anew, "") == shared));                  // a database does not tell its uptime
    BOOST_TEST((second(0s, 1s, beginning::anew, "") == std::nullopt));
}

BOOST_AUTO_TEST_SUITE_END()
