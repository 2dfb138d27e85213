#pragma once

#include "sim/gallery/computer.hpp"

#include <cstdint>
#include <optional>

namespace redlock::sim::gallery {

/// The lock's key, its ttl, and the longest wait for it.
inline constexpr char const key[] = "stock";
inline constexpr std::chrono::milliseconds ttl = 1s;
inline constexpr std::chrono::milliseconds wait = 2s;

/// A way to lock, as people write it. Each user has its own object, and calls one function after the other.
class algorithm {
public:
    explicit algorithm(computer& c) : computer_(c) {}
    virtual ~algorithm() = default;

    /// Tries for a while. @return whether the caller has the lock
    virtual task<bool> lock() = 0;
    virtual task<void> unlock() = 0;

    /// Whether the lock is still valid, as far as the caller can know. Empty: the algorithm has no check.
    virtual std::optional<bool> held() { return std::nullopt; }

    /// The number by which the protected resource orders holders; zero: none.
    virtual std::uint64_t fencing_token() const { return 0; }

protected:
    computer& computer_;
};

/// An algorithm that tries again and again.
class polling : public algorithm {
public:
    using algorithm::algorithm;

    task<bool> lock() final
    {
        auto const end = computer_.now() + wait;
        for (;;) {
            computer_.tell("tries");
            bool const won = co_await try_lock();
            if (won || computer_.now() > end)
                co_return won;
            co_await computer_.sleep(pause());
        }
    }

private:
    virtual task<bool> try_lock() = 0;
    virtual clock::duration pause() { return 50ms; }
};

}  // namespace redlock::sim::gallery
