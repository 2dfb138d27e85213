#include "stores/redis/server_history.hpp"

#include <boost/test/unit_test.hpp>

#include <utility>

using namespace redlock;
using namespace redlock::stores::redis;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(server_histories)

using stores::redis::server_history;

namespace {

constexpr clock::time_point now{1000h};
constexpr log_state good{.complete = true, .synced = true, .from_start = true};
constexpr log_state rewriting{.complete = false, .synced = true, .from_start = true};
constexpr log_state rewritten{.complete = true, .synced = true, .from_start = false};
constexpr log_state unsynced{.complete = true, .synced = false, .from_start = true};

// Whether the next life counts as durable, after an earlier life with these looks at its log.
bool remembers(std::initializer_list<std::pair<log_state, clock::duration>> seen, log_state at_the_restart = good)
{
    server_history h(60s);
    bool first = true;
    for (auto const& [log, when] : seen) {
        if (std::exchange(first, false))
            h.greeted("one", 1h, log, now + when);
        else
            h.looked(log, now + when);
    }
    h.greeted("two", 0s, at_the_restart, now + 2h);
    BOOST_TEST(h.identity().restarted);
    BOOST_TEST((h.identity().began == now + 2h));
    return h.identity().durable;
}

life_mark mark_of(std::string run_id, std::string before, std::chrono::milliseconds age = 0ms)
{
    return {.text = run_id + " 0 " + before + " f00d", .run_id = run_id, .before = before, .age = age};
}

char const persistence[] =
    "# Persistence\r\nloading:0\r\naof_enabled:1\r\naof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0\r\n"
    "aof_last_rewrite_time_sec:-1\r\naof_current_rewrite_time_sec:-1\r\naof_last_write_status:ok\r\n";
std::vector<std::string> const policy{"no-appendfsync-on-rewrite", "no", "appendfsync", "always"};

log_state with(std::string_view old, std::string_view replacement)
{
    std::string text = persistence;
    auto const at = text.find(old);
    BOOST_TEST_REQUIRE(at != text.npos);
    return read_log_state(text.replace(at, old.size(), replacement), policy);
}

}  // namespace

BOOST_AUTO_TEST_CASE(read_log_state_of_complete_answers_reads_each_part)
{
    auto const log = read_log_state(persistence, policy);
    BOOST_TEST((log.complete && log.synced && log.from_start));
    BOOST_TEST(!with("aof_enabled:1", "aof_enabled:0").complete);
    BOOST_TEST(!with("in_progress:0", "in_progress:1").complete);
    BOOST_TEST(!with("scheduled:0", "scheduled:1").complete);
    BOOST_TEST(!with("write_status:ok", "write_status:err").synced);
    BOOST_TEST(!with("last_rewrite_time_sec:-1", "last_rewrite_time_sec:0").from_start);
    for (std::vector<std::string> const& other : {std::vector<std::string>{},
                                                  {"appendfsync", "always"},
                                                  {"no-appendfsync-on-rewrite", "no"},
                                                  {"appendfsync", "everysec", "no-appendfsync-on-rewrite", "no"},
                                                  {"appendfsync", "always", "no-appendfsync-on-rewrite", "yes"},
                                                  {"appendfsync"}})
        BOOST_TEST(!read_log_state(persistence, other).synced);
}

BOOST_AUTO_TEST_CASE(read_log_state_of_missing_answers_is_false)
{
    auto const log = read_log_state("", {});
    BOOST_TEST((!log.complete && !log.synced && !log.from_start));
    BOOST_TEST(!with("aof_rewrite_in_progress:0\r\n", "").complete);
    BOOST_TEST(!with("aof_rewrite_scheduled:0\r\n", "").complete);
    BOOST_TEST(!with("aof_last_write_status:ok\r\n", "").synced);
    BOOST_TEST(!with("aof_last_rewrite_time_sec:-1\r\n", "").from_start);
}

BOOST_AUTO_TEST_CASE(greeted_by_an_elected_master_dates_the_keys_by_its_tenure)
{
    server_history h(60s);
    h.greeted("one", tenure{"a", 90s}, now);
    BOOST_TEST(h.identity().restarted);  // a single young master does not count as newly started
    BOOST_TEST(!h.identity().durable);
    BOOST_TEST((h.identity().began == now - 80s));  // 10 s less: some clients have not learned of this master yet
    h.greeted("one", tenure{"a", 91s}, now + 2s);
    BOOST_TEST(h.same_server());
    BOOST_TEST((h.identity().began == now - 80s));

    h.greeted("two", tenure{"b", 1s}, now + 5s);
    BOOST_TEST(!h.same_server());
    BOOST_TEST((h.identity().began == now + 14s));

    h.greeted("two", tenure{"c", 0s}, now + 9s);  // there was another master in between
    BOOST_TEST(h.same_server());
    BOOST_TEST((h.identity().began == now + 19s));
    h.greeted("two", tenure{}, now + 20s);  // this is a replica
    h.greeted("two", tenure{"c", 12s}, now + 21s);
    BOOST_TEST((h.identity().began == now + 19s));
    h.greeted("two", tenure{"d", -5s}, now + 30s);
    BOOST_TEST((h.identity().began == now + 40s));
}

BOOST_AUTO_TEST_CASE(greeted_after_a_restart_is_durable_if_the_last_log_state_was)
{
    BOOST_TEST(remembers({{good, 0s}}));
    BOOST_TEST(remembers({{rewriting, 0s}, {rewritten, 1s}}));  // the rewritten log has all keys
    BOOST_TEST(!remembers({{rewriting, 0s}}));
    BOOST_TEST(!remembers({{good, 0s}, {rewriting, 1s}}));
    BOOST_TEST(!remembers({{good, 0s}, {log_state(), 1s}}));
}

BOOST_AUTO_TEST_CASE(looked_at_an_unsynced_log_is_not_durable_for_max_ttl)
{
    BOOST_TEST(!remembers({{good, 0s}, {unsynced, 1s}}));
    BOOST_TEST(!remembers({{good, 0s}, {unsynced, 1s}, {good, 60s}}));
    BOOST_TEST(remembers({{good, 0s}, {unsynced, 1s}, {good, 61s}}));
}

BOOST_AUTO_TEST_CASE(greeted_by_a_new_life_that_did_not_read_the_log_is_not_durable)
{
    BOOST_TEST(!remembers({{good, 0s}}, log_state()));
    BOOST_TEST(!remembers({{good, 0s}}, rewriting));
    BOOST_TEST(!remembers({{good, 0s}}, rewritten));
    BOOST_TEST(!remembers({{good, 0s}}, unsynced));
}

BOOST_AUTO_TEST_CASE(looked_after_a_life_has_forgotten_does_not_make_it_durable)
{
    server_history h(60s);
    h.greeted("one", 1h, log_state(), now);
    h.greeted("two", 0s, good, now + 1s);
    BOOST_TEST(!h.identity().durable);
    h.looked(good, now + 2s);
    BOOST_TEST(!h.identity().durable);
    h.greeted("two", 3s, good, now + 3s);
    BOOST_TEST(h.same_server());
    BOOST_TEST(!h.identity().durable);
    auto later = h;
    h.greeted("three", 0s, good, now + 60s);
    BOOST_TEST(!h.identity().durable);  // it remembers the second life, which had forgotten the first one
    later.greeted("three", 0s, good, now + 61s);
    BOOST_TEST(later.identity().durable);
}

BOOST_AUTO_TEST_CASE(greeted_without_a_name_keeps_the_earlier_life)
{
    server_history h(60s);
    h.greeted("one", 1h, log_state(), now);
    auto const before = h.identity();
    h.greeted("", 0s, log_state(), now + 1s);  // the server was too busy to tell its name
    BOOST_TEST((h.identity().restarted && !h.identity().durable && h.identity().began == now + 1s));

    auto same = h, soon = h, late = h;
    same.greeted("one", 1h, log_state(), now + 2s);
    BOOST_TEST(same.same_server());
    BOOST_TEST((!same.identity().restarted && same.identity().began == before.began));

    soon.looked(good, now + 2s);
    soon.greeted("two", 0s, good, now + 60s);
    BOOST_TEST((soon.identity().restarted && !soon.identity().durable));
    late.looked(good, now + 61s);
    late.greeted("two", 0s, good, now + 62s);
    BOOST_TEST(late.identity().durable);
}

BOOST_AUTO_TEST_CASE(greeted_for_the_first_time_believes_the_server)
{
    for (auto const& [log, durable] : {std::pair(good, true), std::pair(rewriting, false), std::pair(rewritten, false),
                                       std::pair(unsynced, false)}) {
        server_history h(60s);
        h.greeted("one", 10s, log, now);
        BOOST_TEST(!h.identity().restarted);
        BOOST_TEST((h.identity().began == now - 9s));
        BOOST_TEST(h.identity().durable == durable);
    }
}

BOOST_AUTO_TEST_CASE(greeted_with_the_next_marker_depends_on_the_log)
{
    server_history h(60s);
    h.greeted("one", 1h, good, now, mark_of("one", "-", 1h));
    BOOST_TEST(!h.identity().durable);  // it is unknown what existed before the marker
    h.greeted("two", 0s, good, now + 2s, mark_of("two", "one"));
    BOOST_TEST((h.identity().restarted && h.identity().durable));
    h.greeted("three", 0s, log_state(), now + 3s, mark_of("three", "two"));
    BOOST_TEST((h.identity().restarted && !h.identity().durable && h.identity().began == now + 3s));
}

BOOST_AUTO_TEST_CASE(greeted_after_a_restart_soon_after_the_first_marker_keeps_the_age)
{
    server_history h(60s);
    h.greeted("one", 1h, good, now, mark_of("one", "-", 5s));
    h.greeted("two", 0s, good, now + 1s, mark_of("two", "one"));
    BOOST_TEST(!h.same_server());
    BOOST_TEST((!h.identity().restarted && !h.identity().durable && h.identity().began == now - 5s));
}

BOOST_AUTO_TEST_CASE(greeted_with_another_marker_is_a_restart)
{
    auto const first = mark_of("one", "zero", 1h);
    struct {
        std::string_view run_id;
        life_mark mark;
    } const all[] = {{"one", mark_of("one", "-")},         // the marker was deleted
                     {"one", mark_of("one", "one")},       // the server was a replica
                     {"one", mark_of("one", "stranger")},  // its keys came from another server
                     {"two", mark_of("two", "-")},         // another disk
                     {"two", mark_of("two", "zero")}};     // an older snapshot
    for (auto const& [run_id, mark] : all) {
        server_history h(60s);
        h.greeted("one", 1h, good, now, first);
        h.greeted("one", 1h, good, now + 1s, first);
        BOOST_TEST((!h.identity().restarted && h.identity().durable));
        h.greeted(run_id, 1h, good, now + 2s, mark);
        BOOST_TEST((h.identity().restarted && !h.identity().durable && h.identity().began == now + 2s), mark.text);
        BOOST_TEST(h.same_server() == (run_id == "one"));
        h.greeted(run_id, 1h, good, now + 3s, mark);
        BOOST_TEST((h.identity().restarted && !h.identity().durable && h.identity().began == now + 2s), mark.text);
    }
}

BOOST_AUTO_TEST_CASE(greeted_for_the_first_time_takes_the_younger_of_process_and_marker)
{
    for (auto const& [mark, age] : {std::pair(mark_of("one", "-", 5s), 5s), std::pair(mark_of("one", "one", 5s), 5s),
                                    std::pair(mark_of("one", "-", 2h), 9s), std::pair(mark_of("one", "-", -5s), 0s)}) {
        server_history h(60s);
        h.greeted("one", 10s, good, now, mark);
        BOOST_TEST((!h.identity().restarted && !h.identity().durable && h.identity().began == now - age), mark.text);
    }
    server_history continued(60s);
    continued.greeted("one", 10s, good, now, mark_of("one", "zero", 1s));
    BOOST_TEST((continued.identity().durable && continued.identity().began == now - 9s));
}

BOOST_AUTO_TEST_CASE(greeted_with_a_marker_that_was_unreadable_before_is_no_restart)
{
    server_history h(60s);
    h.greeted("one", 1h, good, now);
    h.greeted("one", 1h, good, now + 1s, mark_of("one", "-", 1s));
    BOOST_TEST((!h.identity().restarted && !h.identity().durable && h.identity().began == now));
    h.greeted("one", 1h, good, now + 2s);
    BOOST_TEST((h.mark() == mark_of("one", "-").text && h.identity().began == now));
}

BOOST_AUTO_TEST_CASE(greeted_after_it_was_a_replica_is_a_restart)
{
    for (bool const known : {false, true}) {
        server_history h(60s);
        if (known)
            h.greeted("one", 1h, good, now);
        h.met_replica();
        h.greeted("one", 1h, good, now + 1s);
        BOOST_TEST((h.identity().restarted && !h.identity().durable && h.identity().began == now + 1s));
        h.greeted("one", 1h, good, now + 2s);
        BOOST_TEST((h.identity().began == now + 1s));
    }
}

BOOST_AUTO_TEST_CASE(greeted_by_a_server_without_a_name_is_a_new_life_each_time)
{
    server_history h(60s);
    h.greeted("", 0s, log_state(), now);
    BOOST_TEST((!h.identity().durable && !h.identity().restarted && h.identity().began == now));
    h.greeted("", 0s, log_state(), now + 1s);
    BOOST_TEST((!h.same_server() && !h.identity().restarted && h.identity().began == now + 1s));
}

BOOST_AUTO_TEST_CASE(greeted_after_a_seen_restart_ignores_the_uptime)
{
    server_history h(60s);
    h.greeted("one", 1h, unsynced, now);
    h.greeted("two", 10min, unsynced, now + 1s);
    BOOST_TEST((h.identity().restarted && h.identity().began == now + 1s));
}

// After the restart the server was out of memory, so its marker could not be read.
BOOST_AUTO_TEST_CASE(greeted_with_a_marker_after_a_seen_restart_stays_restarted)
{
    server_history h(60s);
    clock::time_point const start{1000h};
    h.greeted("first", 2h, log_state{}, start);
    h.greeted("second", 5s, log_state{}, start + 10s);
    BOOST_TEST(h.identity().restarted);

    h.greeted("second", 8s, log_state{}, start + 13s, mark_of("second", "-", 2s));

    BOOST_TEST(h.identity().restarted);
    BOOST_TEST(!h.identity().durable);
    BOOST_TEST((h.identity().began >= start + 10s));
}

BOOST_AUTO_TEST_SUITE_END()
