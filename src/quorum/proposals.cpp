#include "quorum/proposals.hpp"

#include <utility>

namespace redlock::inline v0::detail {

proposals::proposals(config const& settings, detail::runtime& r, user_log& log)
    : runtime_(r),
      log_(log),
      clock_(settings.fencing ? static_cast<std::uint8_t>(r.random()[0]) : std::uint8_t(0), settings.max_ttl / 2)
{
}

void proposals::learn(std::uint64_t counter, std::string_view resource)
{
    auto const wall_clock = runtime_.wall_clock();
    if (clock_.learn(counter, wall_clock) || std::exchange(told_, true))
        return;
    log_.add(log_level::warning, runtime_.now(),
             "fencing: the tokens of {} are {} s ahead of this clock: it is wrong, or was once elsewhere. Each lock there takes a "
             "second round trip",
             resource, (counter - wall_clock) / 1'000'000);
}

}  // namespace redlock::detail
