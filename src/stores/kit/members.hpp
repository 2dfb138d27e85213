#pragma once

#include "core/backoff.hpp"

#include <redlock/clock.hpp>

#include <cstddef>
#include <random>
#include <utility>
#include <vector>

namespace redlock::leases {

/// The servers that are one store: which one is talked to, and which one next.
template <class Server>
class members {
public:
    /// @p seed: of the pauses
    members(std::vector<Server> all, std::minstd_rand::result_type seed) : all_(std::move(all)), random_(seed) {}

    /// Begins with any of them.
    void shuffle() { at_ = random_() % all_.size(); }

    Server const& present() const { return all_[at_]; }
    bool single() const noexcept { return all_.size() == 1; }

    /// @p lasted: how long it was of use; zero: not at all. @p stay: it may be so again at once.
    void leave(clock::duration lasted, bool stay = false)
    {
        failures_ = lasted > core::reconnection_pause_max ? 0 : failures_ + 1;
        at_ = stay ? at_ : (at_ + 1) % all_.size();
    }

    /// Whether none of them was of use.
    bool all_failed() const noexcept { return failures_ >= all_.size(); }

    /// How long to wait before the next one: not at all, as long as not all have failed.
    clock::duration pause()
    {
        return all_failed() ? core::reconnection_pause(failures_ / all_.size(), std::generate_canonical<double, 53>(random_)) : clock::duration();
    }

private:
    std::vector<Server> const all_;
    std::size_t at_ = 0;
    std::size_t failures_ = 0;
    std::minstd_rand random_;
};

}  // namespace redlock::leases
