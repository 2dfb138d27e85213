#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(founding)

namespace {

/// The result of a call of async_found.
struct founded {
    founded(lock_world& w, lock_manager& locks, asio::cancellation_slot slot = {})
    {
        locks.async_found(asio::bind_cancellation_slot(slot, [this, &w](error_code code, attempt_report r) {
            ++calls;
            ec = code;
            report = std::move(r);
            when = w.now;
        }));
    }

    int calls = 0;
    std::optional<error_code> ec;
    attempt_report report;
    clock::time_point when;
};

/// Three servers that are new to the prefix, and a manager that does not found them by itself.
struct new_servers {
    explicit new_servers(manager_options settings = {.restart_guard = restart_guard::strict})
    {
        w.each([&](auto& s) { s.be_new(w.now - 3s); });
        locks = w.manager(std::move(settings));
    }

    attempt_report found(lock_manager& by)
    {
        founded f(w, by);
        w.run_to([&] { return f.ec.has_value(); });
        BOOST_TEST(f.calls == 1);
        BOOST_TEST((f.ec == f.report.outcome));
        return f.report;
    }

    attempt_report found() { return found(*locks); }

    std::size_t asked_to_found() const
    {
        std::size_t all = 0;
        for (auto const& s : w.servers)
            all += s->count(node_command::kind::found);
        return all;
    }

    lock_world w{3};
    std::unique_ptr<lock_manager> locks;
};

bool says(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_FIXTURE_TEST_CASE(found_lets_new_nodes_vote_at_once, new_servers)
{
    auto const before = w.acquire(*locks, "stock");
    BOOST_TEST((before.ec == errc::quarantined));
    BOOST_TEST(says(before.report.message, "it is new to this prefix"), before.report.message);
    BOOST_TEST(says(before.report.message, "redlock nodes init"), before.report.message);
    BOOST_TEST((before.report.nodes[0].reason == quarantine_reason::fresh));

    auto const r = found();

    BOOST_TEST(!r.outcome);
    BOOST_TEST(r.rounds == 1u);
    BOOST_TEST(r.message == "the nodes were founded, and vote from now on, for the prefix lock:");
    BOOST_TEST((r.nodes[2].vote == vote::granted));
    BOOST_TEST(locks->stats().founded);
    auto const won = w.acquire(*locks, "stock");
    BOOST_TEST(won.held.held());
    auto const newcomer = w.manager({.restart_guard = restart_guard::strict});
    BOOST_TEST((w.acquire(*newcomer, "stock").ec == errc::contended));
}

BOOST_FIXTURE_TEST_CASE(acquire_that_waits_for_new_nodes_wins_when_they_are_founded, new_servers)
{
    auto waiting = w.start(*locks, "stock", {.wait = wait_forever});
    w.run_for(5s);
    BOOST_TEST(!waiting.done);
    auto const other = w.manager({.restart_guard = restart_guard::strict});
    BOOST_TEST(!found(*other).outcome);
    auto const founded_at = w.now;
    BOOST_TEST(w.wins(waiting));
    BOOST_TEST((w.now - founded_at <= 1s + 1ms));
}

BOOST_FIXTURE_TEST_CASE(found_again_changes_nothing, new_servers)
{
    found();
    auto const other = w.manager({.restart_guard = restart_guard::strict});
    auto const r = found(*other);
    BOOST_TEST(!r.outcome);
    BOOST_TEST(r.rounds == 0u);
    BOOST_TEST(r.message == "the nodes vote already for the prefix lock:");
    BOOST_TEST(asked_to_found() == 3u);
}

BOOST_FIXTURE_TEST_CASE(found_by_two_managers_at_once_succeeds, new_servers)
{
    auto const other = w.manager({.restart_guard = restart_guard::strict});
    founded a(w, *locks), b(w, *other);
    w.run_to([&] { return a.ec && b.ec; });
    BOOST_TEST(!*a.ec);
    BOOST_TEST(!*b.ec);
}

// Another manager has founded two of the nodes, and is about to found the third one.
BOOST_FIXTURE_TEST_CASE(found_while_another_manager_founds_waits_for_it, new_servers)
{
    w[0].be_founded();
    w[1].be_founded();
    w.at(w.now + 500ms, [&] { w[2].be_founded(); });
    auto const r = found();
    BOOST_TEST(!r.outcome);
    BOOST_TEST(r.rounds == 0u);
    BOOST_TEST(asked_to_found() == 0u);
}

BOOST_FIXTURE_TEST_CASE(found_with_a_node_away_changes_nothing, new_servers)
{
    w[1].reachable = false;
    auto const r = found();
    BOOST_TEST((r.outcome == errc::no_quorum));
    BOOST_TEST((r.nodes[1].error == errc::node_unreachable));
    BOOST_TEST((r.nodes[0].error == errc::quarantined));
    BOOST_TEST(says(r.message, "all nodes must answer"), r.message);
    BOOST_TEST(asked_to_found() == 0u);
}

BOOST_FIXTURE_TEST_CASE(found_with_an_old_node_changes_nothing, new_servers)
{
    w[1].be_new(w.now - 1h);
    auto const r = found();
    BOOST_TEST((r.outcome == errc::quarantined));
    BOOST_TEST((r.nodes[1].vote == vote::granted));
    BOOST_TEST(says(r.nodes[1].message, "it votes already"), r.nodes[1].message);
    BOOST_TEST(says(r.nodes[0].message, "it is new to this prefix"), r.nodes[0].message);
    BOOST_TEST((r.quarantine > 56s && r.quarantine <= 57s));
    BOOST_TEST(asked_to_found() == 0u);
}

BOOST_FIXTURE_TEST_CASE(found_with_a_restarted_node_changes_nothing, new_servers)
{
    w[1].restart();
    auto r = found();
    BOOST_TEST((r.outcome == errc::quarantined));
    BOOST_TEST((r.nodes[1].reason == quarantine_reason::restarted));
    BOOST_TEST(says(r.nodes[1].message, "it has restarted or lost keys"), r.nodes[1].message);

    w[1].identity.promoted = true;
    ++w[1].connection;
    r = found();
    BOOST_TEST((r.nodes[1].reason == quarantine_reason::promoted));
    w[1].identity = {.durable = false, .waits_until = w.now + 10s};
    ++w[1].connection;
    r = found();
    BOOST_TEST((r.nodes[1].reason == quarantine_reason::log_off));
    BOOST_TEST(says(r.nodes[1].message, "its log was switched off"), r.nodes[1].message);
    BOOST_TEST(asked_to_found() == 0u);
}

BOOST_FIXTURE_TEST_CASE(found_of_nodes_that_never_forget_succeeds, new_servers)
{
    w.each([](auto& s) { s.identity = {}; });
    auto const r = found();
    BOOST_TEST(!r.outcome);
    BOOST_TEST(r.rounds == 0u);
    BOOST_TEST(r.nodes[0].message == "it votes: it never forgets locks");
}

BOOST_FIXTURE_TEST_CASE(found_of_a_mixed_set_founds_only_nodes_that_forget, new_servers)
{
    w[0].identity = {};
    auto const r = found();
    BOOST_TEST(!r.outcome);
    BOOST_TEST(r.rounds == 1u);
    BOOST_TEST(w[0].count(node_command::kind::found) == 0u);
    BOOST_TEST(w[1].count(node_command::kind::found) == 1u);
    BOOST_TEST(w.acquire(*locks, "stock").held.held());
}

// Such as a server whose scripts were flushed just then: it loads the script, and says it again.
BOOST_FIXTURE_TEST_CASE(found_after_a_node_denied_the_question_asks_once_more, new_servers)
{
    w[1].denied_questions = 1;
    auto const r = found();
    BOOST_TEST(!r.outcome);
    BOOST_TEST(locks->stats().founded);
}

BOOST_FIXTURE_TEST_CASE(found_with_a_node_that_fails_meanwhile_is_an_error, new_servers)
{
    w.each_step = [&] {
        if (w[0].count(node_command::kind::found) > 0)
            w[2].mute = true;
    };
    auto const r = found();
    BOOST_TEST((r.outcome == errc::no_quorum));
    BOOST_TEST((r.nodes[2].error == errc::node_timeout));
}

BOOST_AUTO_TEST_CASE(found_by_a_manager_that_only_reads_is_refused)
{
    new_servers f({.restart_guard = restart_guard::off, .record = false, .read_only = true});
    auto const r = f.found();
    BOOST_TEST((r.outcome == errc::unsupported));
    BOOST_TEST(says(r.message, "only reads"), r.message);
}

BOOST_FIXTURE_TEST_CASE(found_that_is_cancelled_completes_at_once, new_servers)
{
    w[1].connecting = true;
    asio::cancellation_signal cancel;
    founded f(w, *locks, cancel.slot());
    w.run_for(1ms);
    cancel.emit(asio::cancellation_type::total);
    w.run_for(1ms);
    BOOST_TEST_REQUIRE(f.ec.has_value());
    BOOST_TEST((f.ec == asio::error::operation_aborted));
    BOOST_TEST(asked_to_found() == 0u);
}

BOOST_FIXTURE_TEST_CASE(found_of_a_manager_that_is_shut_down_is_aborted, new_servers)
{
    w.shutdown(*locks);
    BOOST_TEST((found().outcome == asio::error::operation_aborted));
}

BOOST_AUTO_TEST_CASE(acquire_with_automatic_guard_founds_and_announces_no_quarantine)
{
    std::vector<std::string> lines;
    new_servers f({.log = [&](log_level, std::string_view line) { lines.emplace_back(line); }});
    BOOST_TEST(f.w.acquire(*f.locks, "stock").held.held());
    f.w.run_for(1ms);
    BOOST_TEST_REQUIRE(lines.size() == 1u);
    BOOST_TEST(lines[0] == "the nodes are new to the prefix lock:, and were founded");
}

BOOST_AUTO_TEST_CASE(acquire_with_automatic_guard_and_a_node_away_announces_new_nodes)
{
    std::vector<std::string> lines;
    new_servers f({.log = [&](log_level, std::string_view line) { lines.emplace_back(line); }});
    f.w[2].reachable = false;
    BOOST_TEST((f.w.acquire(*f.locks, "stock").ec == errc::quarantined));
    f.w.run_for(1ms);
    auto const about_new = std::count_if(lines.begin(), lines.end(), [](auto& l) {
        return says(l, "it is new to this prefix, or has lost all its keys; it votes in ");
    });
    BOOST_TEST(about_new == 2);
}

BOOST_AUTO_TEST_SUITE_END()
