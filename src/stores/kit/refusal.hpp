#pragma once

#include <redlock/error.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace redlock::stores::kit {

/// The end of a message about missing tables.
inline constexpr auto how_to_make_tables = "; see docs/stores.md for how the tables are made";

/// The error of the first of @p reasons whose code @p fits. @param otherwise the error if no code fits
template <class Code, std::size_t Count, class Predicate>
errc reason_in(std::pair<Code, errc> const (&reasons)[Count], Predicate fits, errc otherwise = errc::server_error)
{
    auto const* const known =
        std::find_if(std::begin(reasons), std::end(reasons), [&](auto& r) { return fits(r.first); });
    return known != std::end(reasons) ? known->second : otherwise;
}

}  // namespace redlock::stores::kit
