#include "fault/worker.hpp"

#include "fault/arbiter.hpp"

#include <redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <exception>
#include <random>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace redlock::test {

using namespace std::chrono_literals;

namespace {

std::int64_t nanoseconds_now()
{
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

int run_three(manager_options settings, worker const& work)
{
    asio::io_context context{1};
    lock_manager locks(context, std::move(settings));
    std::size_t running = 3;
    for (std::uint8_t i = 0; i < 3; ++i) {
        asio::co_spawn(context, work(locks, i), [&](std::exception_ptr failure) {
            if (failure)
                ::_exit(1);
            if (--running == 0)
                locks.async_shutdown(asio::detached);
        });
    }
    context.run();
    return 0;
}

asio::awaitable<void> add(lock_manager& locks, shared_counter& s, std::uint64_t seed, bool locked)
{
    std::mt19937_64 random(seed);
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (!s.stop) {
        acquire_options const options{
            .ttl = 1s, .wait = 2s, .renew = random() % 2 ? renewal::automatic : renewal::none};
        lock held;
        if (locked) {
            error_code ec;
            std::tie(ec, held) = co_await locks.async_acquire("counter", options, asio::as_tuple(asio::use_awaitable));
            if (ec) {
                ++s.refused;
                continue;
            }
        }
        auto const value = *static_cast<std::uint64_t volatile*>(&s.value);
        timer.expires_after(std::chrono::microseconds(random() % 5000));
        co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
        // A process that is paused here still writes. A lock alone cannot prevent that. The margin makes it rare, and
        // the second check shows that it happened.
        if (locked && held.remaining() < 100ms) {
            ++s.lost;
        } else {
            *static_cast<std::uint64_t volatile*>(&s.value) = value + 1;
            ++(!locked || held.held() ? s.acknowledged : s.doubtful);
        }
        if (locked)
            co_await held.async_release(asio::as_tuple(asio::use_awaitable));
    }
}

// Only the arbiter can stop this worker.
asio::awaitable<void> add_naively(lock_manager& locks, shared_counter& s, int to_arbiter, std::uint8_t counter,
                                  std::uint64_t seed)
{
    std::mt19937_64 random(seed);
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (std::uint64_t i = 0; !s.stop; ++i) {
        acquire_options const options{
            .ttl = short_ttl, .wait = 2s, .renew = random() % 2 ? renewal::automatic : renewal::none};
        request r{.counter = counter, .acquisition = static_cast<std::uint64_t>(::getpid()) << 32 | i};
        r.began = nanoseconds_now();
        auto [ec, held] = co_await locks.async_acquire(fmt::format("counter/{}", counter), options,
                                                       asio::as_tuple(asio::use_awaitable));
        if (ec) {
            ++s.refused;
            continue;
        }
        r.acquired = nanoseconds_now();
        r.token = held.fencing_token();
        auto a = ask<answer>(to_arbiter, r);
        r.what = request::kind::write;
        for (auto writes = 1 + random() % 3; a.accepted && writes > 0; --writes) {
            timer.expires_after(std::chrono::milliseconds(random() % (random() % 8 ? 20 : 2 * short_ttl.count())));
            co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
            r.value = a.value + 1;
            a = ask<answer>(to_arbiter, r);
            s.acknowledged += a.accepted;
        }
        co_await held.async_release(asio::as_tuple(asio::use_awaitable));
    }
}

}  // namespace redlock::test
