#pragma once

#include "core/backoff.hpp"

#include <redlock/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>

namespace redlock::stores::kit {

/// Chooses among the servers of one store: the current server, the next one, and the pause before it.
class members {
public:
    /// @param seed of the jitter
    members(std::size_t count, std::minstd_rand::result_type seed) : count_(count), random_(seed) {}

    std::size_t present() const noexcept { return at_; }

    /// The number of the latest connection. 0: there was none.
    std::uint32_t connection() const noexcept { return connection_; }
    std::uint32_t next_connection() noexcept { return connection_ = connection_ + 1 == 0 ? 1 : connection_ + 1; }

    void up() { up_since_ = clock::now(); }

    /// The connection ends, but the next connection uses the same server.
    void stay() noexcept { stay_ = true; }

    /// The connection has ended, or could not be made.
    void leave()
    {
        auto const lasted = up_since_ ? clock::now() - *up_since_ : clock::duration(0);
        failures_ = lasted > core::reconnection_pause_max ? 0 : failures_ + 1;
        at_ = stay_ ? at_ : (at_ + 1) % count_;
        up_since_.reset();
        stay_ = false;
    }

    /// Whether all servers have failed, one after the other.
    bool all_failed() const noexcept { return failures_ >= count_; }

    /// The pause before the next connection. Zero, unless all servers have failed.
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
