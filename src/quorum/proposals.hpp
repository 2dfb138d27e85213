#pragma once

#include "core/fencing.hpp"
#include "runtime/log.hpp"
#include "runtime/runtime.hpp"

#include <redlock/config.hpp>

#include <cstdint>
#include <string_view>

namespace redlock::inline v0::detail {

/// The fencing tokens that this manager proposes. On the strand.
class proposals {
public:
    proposals(config const&, detail::runtime&, user_log&);

    std::uint64_t next() noexcept { return clock_.next(runtime_.wall_clock()); }

    /// Another client's proposal for @p resource was higher: a counter has come as far as @p counter.
    void learn(std::uint64_t counter, std::string_view resource);

private:
    detail::runtime& runtime_;
    user_log& log_;
    core::fence_clock clock_;
    bool told_ = false;  ///< that the wall clock is wrong, or was once elsewhere
};

}  // namespace redlock::detail
