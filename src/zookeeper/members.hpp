#pragma once

#include "zookeeper/address.hpp"

#include <redlock/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

namespace redlock::zk {

/// The servers of an ensemble: which one is talked to, and which one next. Each client begins with another one.
class members {
public:
    explicit members(std::vector<member> all) : all_(std::move(all)), at_(random_() % all_.size()) {}

    member const& present() const { return all_[at_]; }

    /// @p lasted: how long it was of use; zero: not at all.
    void leave(clock::duration lasted)
    {
        failures_ = lasted > pause_max ? 0 : failures_ + 1;
        at_ = (at_ + 1) % all_.size();
    }

    /// Whether none of them was of use.
    bool all_failed() const noexcept { return failures_ >= all_.size(); }

    /// How long to wait before the next one: soon, then growing up to half a second; never in step with others.
    clock::duration pause()
    {
        using namespace std::chrono_literals;
        if (!all_failed())
            return {};
        auto const ceiling = std::min<clock::duration>(10ms * (1 << std::min<std::size_t>(failures_ / all_.size(), 6)), pause_max);
        return std::chrono::duration_cast<clock::duration>(ceiling * std::uniform_real_distribution(0.5, 1.0)(random_));
    }

private:
    static constexpr clock::duration pause_max = std::chrono::milliseconds(500);

    std::vector<member> const all_;
    std::minstd_rand random_{std::random_device()()};
    std::size_t at_;
    std::size_t failures_ = 0;
};

}  // namespace redlock::zk
