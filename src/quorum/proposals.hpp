#pragma once

#include "core/fencing.hpp"
#include "events/event_log.hpp"
#include "runtime/runtime.hpp"

#include <redlock/manager_options.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

namespace redlock::inline v1::quorum {

/// The fencing tokens that this manager proposes. On the strand.
class proposals {
public:
    proposals(manager_options const& settings, runtime::runtime& r, events::event_log& log)
        : runtime_(r),
          log_(log),
          clock_(settings.fencing ? static_cast<std::uint8_t>(r.random()[0]) : std::uint8_t(0), settings.max_ttl / 2)
    {
    }

    std::uint64_t next() noexcept { return clock_.next(runtime_.wall_clock()); }

    /// The counter of @p resource is at @p counter: another client has proposed a higher token.
    void learn(std::uint64_t counter, std::string_view resource)
    {
        auto const wall_clock = runtime_.wall_clock();
        if (clock_.learn(counter, wall_clock) || std::exchange(warned_, true))
            return;
        log_.add(
            log_level::warning, runtime_.now(),
            "fencing: the tokens of {} are {} s ahead of this machine's clock. This clock is wrong, or the clock of "
            "another client was. Until it has caught up, each such lock takes a second round trip",
            resource, (counter - wall_clock) / 1'000'000);
    }

private:
    runtime::runtime& runtime_;
    events::event_log& log_;
    core::fence_clock clock_;
    bool warned_ = false;  ///< the warning about the wall clock was logged
};

}  // namespace redlock::quorum
