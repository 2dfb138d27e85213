#pragma once

#include "sim/gallery/algorithm.hpp"
#include "sim/gallery/scripts.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace redlock::sim::gallery {

// Redlock (https://redis.io/docs/latest/develop/use/patterns/distributed-locks), and its variants.

/// Asks one server after the other, as published.
class redlock_as_published : public polling {
public:
    using polling::polling;

    task<bool> try_lock() override
    {
        token_ = computer_.unique();
        auto const begun = computer_.now();
        std::size_t granted = 0;
        auto const first = first_server();
        for (std::size_t i = 0; i < computer_.servers() && (asks_all() || !suffices(granted)); ++i) {
            bool const set = co_await this->set((first + i) % computer_.servers());
            if (set)
                has_votes(++granted);
        }
        valid_until_ = count_from(begun) + ttl - drift;
        if (suffices(granted) && computer_.now() < valid_until_)
            co_return true;
        co_await unlock();
        co_return false;
    }

    task<void> unlock() override
    {
        for (std::size_t i = 0; i < computer_.servers(); ++i)
            co_await computer_.ask_within(timeout(), i, "EVAL", delete_if_equal, 1, key, token_);
    }

    std::optional<bool> held() override { return computer_.now() < valid_until_; }

protected:
    static constexpr clock::duration drift = ttl / 100 + 2ms;  // of clocks

private:
    task<bool> set(std::size_t i)
    {
        co_return co_await computer_.ask_within(timeout(), i, "SET", key, token_, "NX", "PX", ttl / 1ms) == "OK";
    }

    clock::duration pause() override { return computer_.any_up_to(200ms); }

    virtual clock::duration timeout() { return 50ms; }
    virtual clock::time_point count_from(clock::time_point begun) { return begun; }
    virtual std::size_t first_server() { return 0; }
    virtual bool asks_all() { return true; }
    virtual void has_votes(std::size_t) {}
    virtual bool suffices(std::size_t granted) { return granted > computer_.servers() / 2; }

    std::string token_;
    clock::time_point valid_until_{};
};

/// A variant that waits for each server without a timeout.
class redlock_without_timeout final : public redlock_as_published {
public:
    using redlock_as_published::redlock_as_published;

private:
    clock::duration timeout() override { return clock::duration::max(); }
};

class redlock_from_last_reply final : public redlock_as_published {
public:
    using redlock_as_published::redlock_as_published;

private:
    clock::time_point count_from(clock::time_point) override { return computer_.now(); }
};

/// "More accurate": adds back the time that passed from the start until the first server had granted the lock.
class redlock_from_first_success final : public redlock_as_published {
public:
    using redlock_as_published::redlock_as_published;

private:
    clock::duration timeout() override { return 300ms; }
    std::size_t first_server() override { return ++attempts_; }  // spreads the load
    bool asks_all() override { return false; }                   // a majority is enough

    void has_votes(std::size_t granted) override
    {
        if (granted == 1)
            first_success_ = computer_.now();
    }

    clock::time_point count_from(clock::time_point begun) override
    {
        if (first_success_ - begun > drift)
            computer_.tell(fmt::format("adds back {} ms", (first_success_ - begun) / 1ms));
        return std::max(begun, first_success_);
    }

    clock::time_point first_success_{};
    std::size_t attempts_ = 0;
};

/// The quorum is a fraction, so an odd number of servers needs one vote more than a majority.
class redlock_with_rounded_quorum final : public redlock_as_published {
public:
    using redlock_as_published::redlock_as_published;

    static constexpr double quorum(double servers) { return std::min(servers, servers / 2 + 1); }

private:
    bool suffices(std::size_t granted) override
    {
        auto const wanted = quorum(static_cast<double>(computer_.servers()));
        computer_.tell(fmt::format("has {} of {}, and needs {}", granted, computer_.servers(), wanted));
        return static_cast<double>(granted) >= wanted;
    }
};

// With N = 2F + 1 servers, F may fail. Here 3 servers need 3 votes and 5 need 4.
constexpr bool needs(double servers, int votes)
{
    auto const quorum = redlock_with_rounded_quorum::quorum(servers);
    return votes >= quorum && votes - 1 < quorum;
}
static_assert(needs(1, 1) && needs(2, 2) && needs(3, 3) && needs(4, 3) && needs(5, 4) && needs(6, 4) && needs(7, 5));

}  // namespace redlock::sim::gallery
