#pragma once

#include "sim/gallery/computer.hpp"

#include <cstdint>
#include <optional>

namespace redlock::sim::gallery {

/// What is locked, for how long if nobody gives it back, and how long one waits for it.
inline constexpr char const key[] = "stock";
inline constexpr std::chrono::milliseconds ttl = 1s;
inline constexpr std::chrono::milliseconds wait = 2s;

/// A way to lock, as people write it. One object for each user, who calls one function after the other.
class algorithm {
public:
    explicit algorithm(computer& c) : computer_(c) {}
    virtual ~algorithm() = default;

    /// @return whether the caller has the lock, after a while
    virtual task<bool> lock() = 0;
    virtual task<void> unlock() = 0;

    /// Whether the lock is valid still, as far as the caller can know. Nothing: there is no way to ask.
    virtual std::optional<bool> held() { return std::nullopt; }

    /// What the protected resource orders holders by; zero: nothing.
    virtual std::uint64_t fencing_token() const { return 0; }

protected:
    computer& computer_;
};

/// Tries again and again.
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
