#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace redlock::core {

/// When to renew a lock that was acquired or extended at @p started: after about a third of its ttl.
///
/// The random @p bits spread the renewals of locks that were acquired together over a tenth of that time. The times are
/// rounded to moments that all locks with this ttl share. Renewals of the same moment are sent in one batch, which
/// makes them several times cheaper.
template <class TimePoint>
TimePoint renewal_due(TimePoint started, std::chrono::milliseconds ttl, std::uint64_t bits) noexcept
{
    auto const third = std::chrono::nanoseconds(ttl) / 3;
    auto const spread = third / 10;
    auto const due =
        started + third
        - std::chrono::nanoseconds(static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(spread.count() + 1)));
    auto const moment = std::chrono::nanoseconds(ttl) / 256;
    return due - std::chrono::nanoseconds(due.time_since_epoch()) % moment;
}

/// When to try again after a renewal failed at @p now. The lock is not lost while its validity lasts.
template <class TimePoint>
TimePoint renewal_retry(TimePoint now, std::chrono::milliseconds ttl) noexcept
{
    return now + std::max(std::chrono::nanoseconds(ttl) / 20, std::chrono::nanoseconds(std::chrono::milliseconds(2)));
}

}  // namespace redlock::core
