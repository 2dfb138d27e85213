// A process that did not run the manager for a while: the messages say so before they blame servers.

#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(stalls)

namespace {

constexpr std::string_view not_run = "this process did not run the manager for ";

struct logging {
    logging()
        : locks(w.connected({.log = [this](log_level level, std::string_view text) {
              if (level != log_level::debug)
                  lines.emplace_back(text);
          }}))
    {
    }

    /// The place of the first line that contains @p words; the number of lines if there is none.
    std::size_t place_of(std::string_view words) const
    {
        auto const found = std::ranges::find_if(lines, [&](auto& l) { return contains(l, words); });
        return static_cast<std::size_t>(found - lines.begin());
    }

    lock_world w{3};
    std::vector<std::string> lines;
    std::unique_ptr<lock_manager> locks;
};

// The event loop of a real program.
struct real_loop {
    /// Blocks the only thread of the loop until @p until.
    static void block_until(clock::time_point until)
    {
        while (clock::now() < until)
            std::this_thread::sleep_for(1ms);
    }

    std::array<std::shared_ptr<memory_server>, 3> servers{memory_server::at("stall-a"), memory_server::at("stall-b"),
                                                          memory_server::at("stall-c")};
    asio::io_context context;
    lock_manager locks{context, {.nodes = {"memory://stall-a", "memory://stall-b", "memory://stall-c"}}};
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(acquire_after_a_stall_blames_the_process_first, logging)
{
    w.each([](auto& s) { s.hung = true; });
    lock_world::outcome lost;
    w.start_acquire(lost, *locks, "stock", {.explain = true});
    w.run_for(1ms);
    w.stall_for(449ms);
    w.run_for(1s);
    BOOST_TEST((lost.ec == errc::no_quorum));
    auto const& message = lost.report.message;
    BOOST_TEST(message.starts_with("redlock: cannot hold \"stock\": this process did not run the manager for 40"),
               message);
    BOOST_TEST(contains(message, " ms: a handler blocks, or the process was paused; too few nodes answered"), message);
}

BOOST_FIXTURE_TEST_CASE(acquire_without_a_stall_blames_only_the_servers, logging)
{
    w.stall_for(10s);
    w.run_for(10s);
    w.each([](auto& s) { s.hung = true; });
    auto const lost = w.acquire(*locks, "stock");
    BOOST_TEST((lost.ec == errc::no_quorum));
    BOOST_TEST(!contains(lost.report.message, not_run), lost.report.message);
}

BOOST_FIXTURE_TEST_CASE(with_lock_lost_by_a_stall_says_so, logging)
{
    auto const body = [&](lock&) -> asio::awaitable<void> {
        w.stall_for(3s);
        co_await work_for(w, 1h);
    };
    auto const message =
        message_of(run(w, locks->with_lock("stock", {.ttl = 2s, .renew = renewal::automatic}, body)).failure);
    BOOST_TEST(message.starts_with("redlock: lost, while a body ran under it, \"stock\": this process did not run the "
                                   "manager for 2."),
               message);
    BOOST_TEST(contains(message, "the process was paused; its validity ended 1.0"), message);
    BOOST_TEST(!contains(message, "majority"), message);
    BOOST_TEST(place_of(not_run) < place_of("lost \"stock\""));
    BOOST_TEST(place_of("lost \"stock\"") < lines.size());
}

BOOST_FIXTURE_TEST_CASE(with_lock_released_after_its_validity_says_how_late, logging)
{
    auto const body = [&](lock&) -> asio::awaitable<void> {
        w.stall_for(3s);
        co_return;
    };
    auto const failure = run(w, locks->with_lock("stock", {.ttl = 2s}, body)).failure;
    BOOST_TEST((code_of(failure) == errc::lost));
    auto const message = message_of(failure);
    BOOST_TEST(contains(message, not_run), message);
    BOOST_TEST(contains(message, "its validity ended 1.0"), message);
    BOOST_TEST(!contains(message, "majority"), message);
}

BOOST_FIXTURE_TEST_CASE(log_of_a_node_after_a_stall_begins_with_the_stall, logging)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 10s, .renew = renewal::automatic});
    w.each([](auto& s) { s.hung = true; });
    w.stall_for(5s);
    w.run_for(1s);
    auto const failing = place_of("renewals have begun to fail");
    BOOST_TEST_REQUIRE(failing < lines.size());
    BOOST_TEST(place_of(not_run) < failing);
    BOOST_TEST(std::ranges::count_if(lines, [](auto& l) { return l.starts_with(not_run); }) == 1);
}

BOOST_FIXTURE_TEST_CASE(log_of_a_long_stall_has_one_line_although_nothing_failed, logging)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 10s, .renew = renewal::automatic});
    w.stall_for(4s);
    w.run_for(5s);
    BOOST_TEST(won.held.held());
    BOOST_TEST(lines.size() == 1u);
    BOOST_TEST(place_of(not_run) == 0u);
}

BOOST_FIXTURE_TEST_CASE(stats_loop_lag_has_the_stalls, logging)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 10s, .renew = renewal::automatic});
    w.run_for(20s);
    auto const before = locks->stats().loop_lag;
    BOOST_TEST(before.count() > 0u);
    BOOST_TEST((before.quantile(1) < 1ms));
    w.stall_for(5s);
    w.run_for(1s);
    BOOST_TEST((locks->stats().loop_lag.quantile(1) > 1s));
}

BOOST_FIXTURE_TEST_CASE(with_lock_whose_body_blocks_the_real_loop_blames_the_process, real_loop)
{
    std::string message;
    auto body = [&](lock& held) -> asio::awaitable<void> {
        block_until(held.valid_until() + 300ms);
        co_return;
    };
    auto const run = [&]() -> asio::awaitable<void> {
        try {
            co_await locks.with_lock("stock", {.ttl = 1s}, body);
        } catch (lock_error const& e) {
            message = e.what();
        }
        co_await locks.async_shutdown();
    };
    asio::co_spawn(context, run(), asio::detached);
    context.run();
    BOOST_TEST(contains(message, not_run), message);
    BOOST_TEST(contains(message, "its validity ended "), message);
    BOOST_TEST((locks.stats().loop_lag.quantile(1) >= 250ms));
}

BOOST_AUTO_TEST_SUITE_END()
