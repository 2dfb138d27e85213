#pragma once

#include "core/backoff.hpp"

#include <redlock/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>

namespace redlock::stores::kit {

/// The servers that are one store: which one the node talks to, which one is next, and the number of the connection.
class members {
public:
    /// @p seed: of the pauses
    members(std::size_t count, std::minstd_rand::result_type seed) : count_(count), random_(seed) {}

    std::size_t present() const noexcept { return at_; }

    /// Of the latest connection. It is not 0.
    std::uint32_t connection() const noexcept { return connection_; }
    std::uint32_t next_connection() noexcept { return connection_ = connection_ + 1 == 0 ? 1 : connection_ + 1; }

    void up() { up_since_ = clock::now(); }

    /// The connection ends, but its server may be of use again at once.
    void stay() noexcept { stay_ = true; }

    /// The connection has ended, or there was none.
    void leave()
    {
        auto const lasted = up_since_ ? clock::now() - *up_since_ : clock::duration(0);
        failures_ = lasted > core::reconnection_pause_max ? 0 : failures_ + 1;
        at_ = stay_ ? at_ : (at_ + 1) % count_;
        up_since_.reset();
        stay_ = false;
    }

    /// Whether none of them was of use.
    bool all_failed() const noexcept { return failures_ >= count_; }

    /// How long to wait before the next one: not at all, as long as not all have failed.
    clock::duration pause()
    {
        if (!all_failed())
            return {};
        return core::reconnection_pause(failures_ / count_, std::generate_canonical<double, 53>(random_));
    }

private:
    std::size_t const count_;
    std::size_t at_ = 0, failures_ = 0;
    std::uint32_t connection_ = 0;
    std::optional<clock::time_point> up_since_;
    bool stay_ = false;
    std::minstd_rand random_;
};

}  // namespace redlock::stores::kit
