#include "core/backoff.hpp"

#include <redlock/detail/outcome.hpp>
#include <redlock/report.hpp>

#include <cstdint>
#include <random>

namespace redlock::inline v1 {

namespace {

std::chrono::milliseconds told_by(attempt_report const& r)
{
    if (r.outcome == errc::contended)
        return r.remaining;
    return r.outcome == errc::quarantined ? r.quarantine : std::chrono::milliseconds(0);
}

}  // namespace

std::chrono::milliseconds retry_after(attempt_report const& report, std::size_t attempt)
{
    if (detail::outcome_of(report.outcome).kind == detail::outcome_kind::refused)
        return {};
    std::uint64_t const bits = std::random_device()();  // a generator that is kept would repeat itself after a fork
    return core::retry_after(told_by(report), attempt, bits << 32);
}

}  // namespace redlock
