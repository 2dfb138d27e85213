// Messages in exceptions, in attempt reports and in the log.

#include "locks/explain.hpp"
#include "support/manager_test.hpp"

#include <boost/asio/redirect_error.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(error_messages)

namespace {

struct line {
    clock::time_point when;
    log_level level;
    std::string text;
};

template <std::size_t Servers>
struct logging {
    // The number of lines that contain @p words, without debug lines.
    std::size_t count(std::string_view words) const
    {
        return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), [&](auto& l) {
            return l.level != log_level::debug && l.text.find(words) != std::string::npos;
        }));
    }

    lock_world w{Servers};
    std::vector<line> lines;
    std::unique_ptr<lock_manager> locks = w.manager({.log = [this](log_level level, std::string_view text) {
        lines.push_back({w.now, level, std::string(text)});
    }});
};

// One of three nodes still grants.
void break_two(lock_world& w)
{
    w[1].refusal = errc::node_read_only;
    w[2].reachable = false;
}

constexpr auto* broken_two =
    "redlock: cannot hold \"stock\": too few nodes answered for a majority; 1 of 3 granted, 0 denied, 2 needed; "
    "no vote from server-1 (the server is a replica, or read-only), server-2 (no connection to the node)";

}  // namespace

BOOST_AUTO_TEST_CASE(acquire_queued_during_an_outage_returns_no_quorum)
{
    for (bool const connected_before : {false, true}) {
        lock_world w(3);
        auto locks = w.manager();
        if (connected_before)
            w.acquire(*locks, "warm-up");
        w.each([](auto& s) { s.reachable = false; });
        std::deque<lock_world::outcome> outcomes(10);
        for (std::size_t i = 0; i < outcomes.size(); ++i)
            w.start_acquire(outcomes[i], *locks, "stock", {.wait = 1s, .explain = true});
        w.run_for(3s);
        for (std::size_t i = 0; i < outcomes.size(); ++i) {
            BOOST_TEST_CONTEXT("acquisition " << i << ", connected before: " << connected_before) {
                BOOST_TEST(outcomes[i].calls == 1);
                BOOST_TEST((outcomes[i].ec == errc::no_quorum));
                BOOST_TEST(outcomes[i].report.message.find("server-2 (no connection to the node)")
                           != std::string::npos);
                BOOST_TEST_REQUIRE(outcomes[i].report.nodes.size() == 3u);
                BOOST_TEST((outcomes[i].report.nodes[1].error == errc::node_unreachable));
            }
        }
        BOOST_TEST(locks->stats().no_quorum == 10u);
        BOOST_TEST(locks->stats().contended == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_waiting_for_the_first_connection_returns_no_quorum, manager_of<3>)
{
    w.each([](auto& s) { s.connecting = true; });
    w[0].reachable = w[1].reachable = false;
    auto first = w.start(*locks, "stock", {.wait = 300ms});
    auto second = w.start(*locks, "stock", {.wait = 200ms});
    w.run_for(3s);
    BOOST_TEST((first.ec == errc::no_quorum));
    BOOST_TEST((second.ec == errc::no_quorum));
}

BOOST_FIXTURE_TEST_CASE(acquire_queued_behind_a_holder_after_an_outage_returns_contended, manager_of<3>)
{
    w.each([](auto& s) { s.reachable = false; });
    auto first = w.start(*locks, "stock", {.ttl = 50s, .wait = 5s});
    auto second = w.start(*locks, "stock", {.wait = 5s});
    w.run_for(2s);
    w.each([](auto& s) { s.reachable = true; });
    BOOST_TEST(w.held_after(5s, first));
    BOOST_TEST((second.ec == errc::contended));
}

BOOST_FIXTURE_TEST_CASE(lock_error_names_the_resource_the_votes_and_each_reason, manager_of<3>)
{
    break_two(w);
    std::vector<std::exception_ptr> failures;
    std::optional<error_code> redirected, in_tuple, in_callback;
    auto const by_default = [&]() -> asio::awaitable<void> { co_await locks->async_acquire("stock", {}); };
    auto const nothing = [](lock&) -> asio::awaitable<void> { co_return; };
    failures.push_back(run(w, by_default()).failure);
    failures.push_back(run(w, locks->async_acquire("stock", asio::use_awaitable)).failure);
    failures.push_back(run(w, locks->with_lock("stock", nothing)).failure);
    auto const attempts = [&]() -> asio::awaitable<void> {
        // These tokens pass the plain error code.
        error_code ec;
        BOOST_TEST((co_await locks->async_acquire("stock", asio::redirect_error(asio::use_awaitable, ec))).empty());
        redirected = ec;
        auto [as_tuple, none] = co_await locks->async_acquire("stock", {}, asio::as_tuple(asio::deferred));
        static_assert(std::is_same_v<decltype(as_tuple), error_code>);
        in_tuple = as_tuple;
    };
    asio::co_spawn(w.context, attempts(), [](std::exception_ptr e) { BOOST_TEST(!e); });
    w.run_for(10s);
    auto future = locks->async_acquire("stock", {}, asio::use_future);
    w.run_for(10s);
    locks->async_acquire("stock", {}, [&](auto ec, lock const&) {
        static_assert(std::is_same_v<decltype(ec), error_code>);
        in_callback = ec;
    });
    w.run_for(10s);
    try {
        lock const none = future.get();
    } catch (...) {
        failures.push_back(std::current_exception());
    }

    BOOST_TEST_REQUIRE(failures.size() == 4u);
    for (auto const& f : failures) {
        BOOST_TEST(message_of(f) == broken_two);
        BOOST_TEST((code_of(f) == errc::no_quorum));
    }
    for (auto const& ec : {redirected, in_tuple, in_callback})
        BOOST_TEST((ec == make_error_code(errc::no_quorum)));
}

BOOST_FIXTURE_TEST_CASE(lock_error_of_an_invalid_option_states_value_and_limit, manager_of<3>)
{
    BOOST_TEST(message_of(run(w, locks->async_acquire("stock", {.ttl = 5ms}, asio::use_awaitable)).failure)
               == "redlock: cannot hold \"stock\": ttl is 5 ms, but must be 20 ms to max_ttl, which is 60000 ms");
}

BOOST_FIXTURE_TEST_CASE(attempt_report_of_contended_names_nodes_without_a_vote, and_another<manager_of<3>>)
{
    auto won = w.acquire(*other, "st\x1b[2Jock");
    auto const all = w.acquire(*locks, "st\x1b[2Jock").report;
    BOOST_TEST(all.message == "redlock: cannot hold \"st?[2Jock\": somebody else holds the lock");
    w[0].reachable = false;
    auto const some = w.acquire(*locks, "st\x1b[2Jock").report;
    BOOST_TEST((some.outcome == errc::contended));
    BOOST_TEST(some.message.find("no vote from server-0 (no connection to the node)") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(acquire_of_a_lock_of_the_same_manager_says_so, and_another<manager_of<3>>)
{
    auto const message = [&](lock_manager& m, resource_set names, acquire_options o = {}) {
        return w.acquire(m, std::move(names), o).report.message;
    };
    auto const itself = "redlock: cannot hold \"a\": this manager holds it itself: pass the lock on, or use lock_scope";
    auto a = w.acquire(*locks, "a", {.ttl = 1min}), b = w.acquire(*other, "b", {.ttl = 1min});
    BOOST_TEST(message(*locks, "a") == itself);
    BOOST_TEST(message(*locks, "a", {.wait = 1s}) == itself);
    BOOST_TEST(message(*locks, "a", {.mode = mode::shared}) == itself);
    BOOST_TEST(contains(message(*other, "a", {.wait = 1s}), "somebody else holds the lock"));
    BOOST_TEST(contains(message(*locks, {"a", "c"}), "this manager holds \"a\" itself: pass the lock on"));
    BOOST_TEST(contains(message(*locks, {"b", "c"}), "somebody else holds the lock"));

    BOOST_TEST(contains(w.acquire_any(*locks, {"a", "b"}).report.message, "somebody else holds the lock"));
    auto d = w.acquire(*locks, "d", {.ttl = 1min});
    BOOST_TEST(w.acquire_any(*locks, {"a", "d"}).report.message
               == "redlock: cannot hold any of \"a\" and 1 more: this manager holds all of them itself");
}

BOOST_FIXTURE_TEST_CASE(attempt_report_with_many_missing_nodes_counts_the_rest, manager_of<15>)
{
    w.each([](auto& s) { s.reachable = false; });
    auto const report = w.acquire(*locks, "stock").report;
    BOOST_TEST(report.message.find("server-8 (no connection to the node) and 6 more") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(with_lock_that_loses_the_lock_throws_the_reason, manager_of<3>)
{
    auto const body = [&](lock&) -> asio::awaitable<void> {
        break_two(w);
        w[0].refusal = errc::node_loading;
        asio::steady_timer never(w.context, asio::steady_timer::time_point::max());
        co_await never.async_wait(asio::use_awaitable);
    };
    BOOST_TEST(
        message_of(run(w, locks->with_lock("stock", {.ttl = 3s, .renew = renewal::automatic}, body)).failure)
        == "redlock: lost, while a body ran under it, \"stock\": its validity is about to end; 0 of 3 granted, 0 "
           "denied, "
           "2 needed; no vote from server-0 (the server is starting up or shutting down), server-1 (not waited for), "
           "server-2 (no connection to the node)");
}

BOOST_AUTO_TEST_CASE(with_lock_whose_body_releases_the_lock_throws_not_held)
{
    for (int const how : {0, 1, 2}) {
        lock_world w(3);
        auto locks = w.manager();
        std::optional<lock> taken;
        bool stopped = false;
        auto const body = [&](lock& held) -> asio::awaitable<void> {
            if (how == 0)
                co_await held.async_release();
            else if (how == 1)
                taken = std::move(held);
            else
                held = {};
            stopped = true;
        };
        auto const ran = run(w, locks->with_lock("stock", body));
        BOOST_TEST_CONTEXT("variant " << how) {
            BOOST_TEST((ran.code() == errc::not_held));
            BOOST_TEST(contains(message_of(ran.failure), "the body released or moved the lock; with_lock releases it"));
            BOOST_TEST((how == 1) == (taken && taken->held()));
        }
    }
}

BOOST_FIXTURE_TEST_CASE(with_lock_rethrows_even_if_the_body_moved_the_lock_away, manager_of<3>)
{
    lock taken;
    auto const body = [&](lock& held) -> asio::awaitable<void> {
        taken = std::move(held);
        throw std::runtime_error("the body has failed");
        co_return;
    };
    BOOST_TEST(message_of(run(w, locks->with_lock("stock", body)).failure) == "another exception: the body has failed");
    BOOST_TEST(taken.held());
}

BOOST_FIXTURE_TEST_CASE(log_of_a_thousand_failing_renewals_has_two_lines, logging<3>)
{
    auto held = w.start_numbered(1000, *locks, {.ttl = 20s, .renew = renewal::automatic});
    w.run_for(5s);
    w[0].reachable = w[1].reachable = false;
    w.run_for(9s);
    BOOST_TEST(locks->stats().renewals_failed > 1000u);
    BOOST_TEST(count("renewals have begun to fail, the first that of \"r") == 1u);
    BOOST_TEST(count("no vote from server-0 (no connection to the node), server-1 (no connection to the node)") == 1u);
    w[0].reachable = w[1].reachable = true;
    w.run_for(20s);
    BOOST_TEST(count("renewals are well again after") == 1u);
    BOOST_TEST(count("and 0 locks were lost") == 1u);
    BOOST_TEST(count("") == 2u);
    BOOST_TEST(locks->stats().held == 1000u);
}

BOOST_FIXTURE_TEST_CASE(log_of_flapping_renewals_has_two_lines_a_second_at_most, logging<1>)
{
    auto const won = w.acquire(*locks, "stock", {.ttl = 600ms, .renew = renewal::automatic});
    for (int i = 0; i < 100; ++i) {
        w[0].reachable = i % 2 == 0;
        w.run_for(i % 2 == 0 ? 250ms : 50ms);
    }
    BOOST_TEST(won.held.held());
    BOOST_TEST(locks->stats().renewals_failed > 10u);
    BOOST_TEST(count("renewals ") >= 2u);
    BOOST_TEST(count("renewals ") <= 2u * 16);
}

BOOST_FIXTURE_TEST_CASE(log_of_five_thousand_losses_is_limited_per_second, logging<3>)
{
    auto held = w.start_numbered(5000, *locks, {.ttl = 10s, .renew = renewal::automatic});
    w.run_for(1s);
    w.each([](auto& s) { s.reachable = false; });
    w.run_for(30s);
    BOOST_TEST(locks->stats().lost == 5000u);
    for (auto first = lines.begin(), last = first; last != lines.end(); ++last) {
        while (last->when - first->when >= 1s)
            ++first;
        // In a counted second, the log writes at most 100 debug and 100 other lines. The window may overlap two
        // seconds.
        BOOST_TEST_REQUIRE((last - first < 400));
    }
    BOOST_TEST(count("lost \"r") >= 99u);
    BOOST_TEST(count("the others are left out") >= 1u);
    w.each([](auto& s) { s.reachable = true; });
    auto won = w.acquire(*locks, "another", {.ttl = 1s});
    w.run_for(10s);  // the loss writes a line
    BOOST_TEST(count("lines were left out") >= 1u);
}

BOOST_FIXTURE_TEST_CASE(log_reports_omitted_lines_at_shutdown, logging<3>)
{
    auto held = w.start_numbered(300, *locks, {.ttl = 1s});
    w.run_for(2s);
    BOOST_TEST(count("lines were left out") == 0u);
    held.clear();
    w.shutdown(*locks);
    BOOST_TEST(count("lines were left out") == 1u);
}

BOOST_FIXTURE_TEST_CASE(shown_name_replaces_control_characters_and_shortens, logging<3>)
{
    auto const shown = [](std::string_view name) { return std::string(std::string_view(events::shown_name(name))); };
    BOOST_TEST(shown("order:4711 \xc3\xa4\xe2\x82\xac\xf0\x9f\x94\x92")
               == "order:4711 \xc3\xa4\xe2\x82\xac\xf0\x9f\x94\x92");
    BOOST_TEST(shown("a\x1b[31m\nb\x7f") == "a?[31m?b?");
    // U+009B is the escape sequence "ESC [" in one character.
    BOOST_TEST(shown("\xc2\x9b"
                     "31m")
               == "??31m");
    BOOST_TEST(shown("\xff\xc3") == "??");
    BOOST_TEST(shown(std::string(64, 'a')) == std::string(64, 'a'));
    BOOST_TEST(shown(std::string(65, 'a')) == std::string(64, 'a') + "\xe2\x80\xa6");
    BOOST_TEST(shown(std::string(63, 'a') + "\xc3\xa4") == std::string(63, 'a') + "\xe2\x80\xa6");

    auto won = w.acquire(*locks, "bad\x1b\nforged", {.ttl = 1s});
    w.run_for(2s);
    BOOST_TEST(count("bad??forged") == 1u);
    BOOST_TEST(count("\n") == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
