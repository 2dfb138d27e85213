#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace redlock::versus {

/// Finds acquisitions of a lock that another worker still uses, and how soon that worker notices its loss.
class loss_watch {
public:
    using time_point = std::chrono::steady_clock::time_point;
    using duration = std::chrono::steady_clock::duration;

    explicit loss_watch(std::size_t workers) : workers_(workers) {}

    void acquired(std::size_t worker, time_point);
    void noticed(std::size_t worker, time_point);  ///< it says that it lost its lock
    void worked(std::size_t worker);               ///< its work is complete, and its write is on the way
    void left(std::size_t worker);                 ///< its write was handled, or it has ended

    /// The acquisitions while another worker was at work, or its write on the way.
    std::uint64_t held_twice() const noexcept { return held_twice_; }

    /// The longest time from the acquisition by another worker to the notice; negative: the notice came first.
    std::optional<duration> slowest() const noexcept { return slowest_; }

    /// Whether a worker completed its work although another one had acquired the lock.
    bool never_noticed() const noexcept { return never_; }

private:
    enum class state : std::uint8_t { outside, working, writing };

    struct worker_state {
        state now = state::outside;
        std::optional<time_point> taken{};    ///< by another worker
        std::optional<time_point> noticed{};  ///< and nobody has acquired the lock since
    };

    void record(duration);

    std::vector<worker_state> workers_;
    std::uint64_t held_twice_ = 0;
    std::optional<duration> slowest_;
    bool never_ = false;
};

}  // namespace redlock::versus
