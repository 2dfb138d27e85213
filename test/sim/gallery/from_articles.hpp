#pragma once

#include "sim/gallery/algorithm.hpp"
#include "sim/gallery/scripts.hpp"

#include <chrono>
#include <string>

// Locks for one server that articles recommend: docs/from-the-articles.md.
namespace redlock::sim::gallery {

/// The value is the second in which the lock ends, by the clock of the client. PHP makes 0 of `sleep(0.3)`.
class thinkphp_lock final : public algorithm {
public:
    using algorithm::algorithm;

    task<bool> lock() override
    {
        computer_.tell("tries");
        for (int retries = 3;; --retries) {
            auto const now = second();
            auto const won =
                co_await computer_.ask(0, "EVAL", set_or_take_over, 1, key, (now + ttl) / 1s, ttl / 1s, now.count());
            if (won == "1" || retries == 0)
                co_return won == "1";
            co_await computer_.sleep(0s);
        }
    }

    /// So that a late holder does not delete the key of another client. But it does not delete its own, either.
    task<void> unlock() override
    {
        auto const deleted = co_await computer_.ask(0, "EVAL", delete_if_over, 1, key, second().count());
        computer_.tell(deleted == "1" ? "deletes the key" : "leaves the key, because its time is not over");
    }

private:
    std::chrono::seconds second() { return std::chrono::floor<std::chrono::seconds>(computer_.time_of_day()); }
};

/// Compares in the client. The key may change between the two commands of a release.
class released_by_get_then_del final : public polling {
public:
    using polling::polling;

    task<bool> try_lock() override
    {
        value_ = computer_.unique();
        co_return co_await computer_.ask(0, "SET", key, value_, "NX", "PX", ttl / 1ms) == "OK";
    }

    task<void> unlock() override
    {
        auto const there = co_await computer_.ask(0, "GET", key);
        if (there == value_)
            co_await computer_.ask(0, "DEL", key);
    }

private:
    std::string value_;
};

/// Compares the value with what it has just read, not with its own value. So every client may release every lock.
class compared_with_itself final : public polling {
public:
    using polling::polling;

    task<bool> try_lock() override
    {
        co_return co_await computer_.ask(0, "SET", key, computer_.unique(), "NX", "PX", ttl / 1ms) == "OK";
    }

    task<void> unlock() override
    {
        auto const value = co_await computer_.ask(0, "GET", key);
        auto const there = co_await computer_.ask(0, "GET", key);
        if (there == value)
            co_await computer_.ask(0, "DEL", key);
    }
};

/// A table with a unique key: who inserts the row has the lock.
class row_without_end final : public polling {
public:
    using polling::polling;

    task<bool> try_lock() override
    {
        owner_ = computer_.unique();
        co_return co_await computer_.ask(0, insert_row, key, owner_) == "INSERT 0 1";
    }

    task<void> unlock() override { co_await computer_.ask(0, delete_row, key, owner_); }

private:
    std::string owner_;
};

}  // namespace redlock::sim::gallery
