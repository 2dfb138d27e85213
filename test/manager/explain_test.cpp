// What a person is told when something goes wrong: in errors, in reports, and in the log.

#include "locks/explain.hpp"
#include "support/manager_test.hpp"

#include <boost/asio/redirect_error.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(explaining)

namespace {

struct line {
    clock::time_point when;
    log_level level;
    std::string text;
};

template <std::size_t Servers>
struct logging {
    // How many lines hold the words; debug lines are for those who look for something.
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

// One node of three that grants.
void break_two(lock_world& w)
{
    w[1].refusal = errc::node_read_only;
    w[2].reachable = false;
}

constexpr auto* broken_two =
    "redlock: cannot hold \"stock\": too few nodes answered for a majority; 1 of 3 granted, 0 denied, 2 needed; "
    "no vote from server-1 (the server is a replica, or read-only), server-2 (no connection to the node)";

}  // namespace

BOOST_AUTO_TEST_CASE(who_waits_in_the_queue_through_an_outage_is_told_of_an_outage)
{
    for (bool const connected_before : {false, true}) {
        lock_world w(3);
        auto locks = w.manager();
        if (connected_before)
            w.acquire(*locks, "warm-up");
        w.each([](auto& s) { s.reachable = false; });
        std::deque<lock_world::outcome> orders(10);
        for (std::size_t i = 0; i < orders.size(); ++i)
            w.start_acquire(orders[i], *locks, "stock", {.wait = 1s, .report = &orders[i].report});
        w.run_for(3s);
        for (std::size_t i = 0; i < orders.size(); ++i) {
            BOOST_TEST_CONTEXT("order " << i << ", connected before: " << connected_before) {
                BOOST_TEST(orders[i].calls == 1);
                BOOST_TEST((orders[i].ec == errc::no_quorum));
                BOOST_TEST(orders[i].report.message.find("server-2 (no connection to the node)") != std::string::npos);
                BOOST_TEST_REQUIRE(orders[i].report.nodes.size() == 3u);
                BOOST_TEST((orders[i].report.nodes[1].error == errc::node_unreachable));
            }
        }
        BOOST_TEST(locks->stats().no_quorum == 10u);
        BOOST_TEST(locks->stats().contended == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(who_waits_for_a_first_connection_is_told_of_the_nodes, manager_of<3>)
{
    w.each([](auto& s) { s.connecting = true; });
    w[0].reachable = w[1].reachable = false;
    auto first = w.start(*locks, "stock", {.wait = 300ms});
    auto second = w.start(*locks, "stock", {.wait = 200ms});
    w.run_for(3s);
    BOOST_TEST((first.ec == errc::no_quorum));
    BOOST_TEST((second.ec == errc::no_quorum));
}

BOOST_FIXTURE_TEST_CASE(who_waits_behind_a_holder_is_told_of_contention_whatever_was_before, manager_of<3>)
{
    w.each([](auto& s) { s.reachable = false; });
    auto first = w.start(*locks, "stock", {.ttl = 50s, .wait = 5s});
    auto second = w.start(*locks, "stock", {.wait = 5s});
    w.run_for(2s);
    w.each([](auto& s) { s.reachable = true; });
    BOOST_TEST(w.held_after(5s, first));
    BOOST_TEST((second.ec == errc::contended));
}

BOOST_FIXTURE_TEST_CASE(what_a_coroutine_or_a_future_throws_names_the_resource_the_votes_and_each_reason, manager_of<3>)
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
        // Whoever wants a code gets a code.
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

BOOST_FIXTURE_TEST_CASE(a_broken_option_is_named_with_its_value_and_its_limit, manager_of<3>)
{
    BOOST_TEST(message_of(run(w, locks->async_acquire("stock", {.ttl = 5ms}, asio::use_awaitable)).failure)
               == "redlock: cannot hold \"stock\": ttl is 5 ms, but must be 20 ms to max_ttl, which is 60000 ms");
}

BOOST_FIXTURE_TEST_CASE(contention_names_those_who_did_not_vote_if_there_are_any, and_another<manager_of<3>>)
{
    auto won = w.acquire(*other, "st\x1b[2Jock");
    auto const all = w.acquire(*locks, "st\x1b[2Jock").report;
    BOOST_TEST(all.message == "redlock: cannot hold \"st?[2Jock\": somebody else holds the lock");
    w[0].reachable = false;
    auto const some = w.acquire(*locks, "st\x1b[2Jock").report;
    BOOST_TEST((some.outcome == errc::contended));
    BOOST_TEST(some.message.find("no vote from server-0 (no connection to the node)") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(many_missing_nodes_are_counted, manager_of<15>)
{
    w.each([](auto& s) { s.reachable = false; });
    auto const report = w.acquire(*locks, "stock").report;
    BOOST_TEST(report.message.find("server-8 (no connection to the node) and 6 more") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_body_whose_lock_is_lost_learns_why, manager_of<3>)
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

BOOST_AUTO_TEST_CASE(a_body_that_releases_its_lock_itself_is_told_so)
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
        BOOST_TEST_CONTEXT("in way " << how) {
            BOOST_TEST((ran.code() == errc::not_held));
            BOOST_TEST(contains(message_of(ran.failure), "released the lock, or moved it away, which with_lock does"));
            BOOST_TEST((how == 1) == (taken && taken->held()));
        }
    }
}

BOOST_FIXTURE_TEST_CASE(what_a_body_throws_counts_also_if_it_has_taken_the_lock_away, manager_of<3>)
{
    lock taken;
    auto const body = [&](lock& held) -> asio::awaitable<void> {
        taken = std::move(held);
        throw std::runtime_error("out of hair dryers");
        co_return;
    };
    BOOST_TEST(message_of(run(w, locks->with_lock("stock", body)).failure) == "another exception: out of hair dryers");
    BOOST_TEST(taken.held());
}

BOOST_FIXTURE_TEST_CASE(a_thousand_renewals_that_fail_are_two_lines, logging<3>)
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

BOOST_FIXTURE_TEST_CASE(what_fails_and_is_well_again_at_once_is_told_once_a_second_at_most, logging<1>)
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

BOOST_FIXTURE_TEST_CASE(whatever_happens_the_lines_of_a_second_are_bounded, logging<3>)
{
    auto held = w.start_numbered(5000, *locks, {.ttl = 10s, .renew = renewal::automatic});
    w.run_for(1s);
    w.each([](auto& s) { s.reachable = false; });
    w.run_for(30s);
    BOOST_TEST(locks->stats().lost == 5000u);
    for (auto first = lines.begin(), last = first; last != lines.end(); ++last) {
        while (last->when - first->when >= 1s)
            ++first;
        BOOST_TEST_REQUIRE((last - first < 400));  // two kinds, and the turn of a second
    }
    BOOST_TEST(count("lost \"r") >= 99u);
    BOOST_TEST(count("the others are left out") >= 1u);
    w.each([](auto& s) { s.reachable = true; });
    auto won = w.acquire(*locks, "another", {.ttl = 1s});
    w.run_for(10s);  // it is lost: a line
    BOOST_TEST(count("lines were left out") >= 1u);
}

BOOST_FIXTURE_TEST_CASE(what_was_left_out_is_told_at_the_end_at_the_latest, logging<3>)
{
    auto held = w.start_numbered(300, *locks, {.ttl = 1s});
    w.run_for(2s);
    BOOST_TEST(count("lines were left out") == 0u);
    held.clear();
    w.shutdown(*locks);
    BOOST_TEST(count("lines were left out") == 1u);
}

BOOST_FIXTURE_TEST_CASE(names_are_shown_without_what_could_forge_a_line_or_disturb_a_terminal, logging<3>)
{
    auto const shown = [](std::string_view name) { return std::string(std::string_view(runtime::shown_name(name))); };
    BOOST_TEST(shown("order:4711 \xc3\xa4\xe2\x82\xac\xf0\x9f\x94\x92")
               == "order:4711 \xc3\xa4\xe2\x82\xac\xf0\x9f\x94\x92");
    BOOST_TEST(shown("a\x1b[31m\nb\x7f") == "a?[31m?b?");
    BOOST_TEST(shown("\xc2\x9b"
                     "31m")
               == "??31m");  // the same in one character
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
