#pragma once

#include <redlock/error.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::stores::kit {

/// The end of a message about missing tables.
inline constexpr auto how_to_make_tables = "; see docs/stores.md for how the tables are made";

/// The beginning of a message about tables that the client may not create.
inline constexpr auto cannot_make_tables = "it cannot create its tables: ";

/// The way out if the tables are of another version. @param steps the word for what is in the database, such as
/// "procedures"
std::string way_to_renew(std::string_view steps);

/// The message about steps of another version. @param steps as for @ref way_to_renew
std::string other_version(std::string_view steps, std::string_view table, std::string_view version,
                          std::string_view needed, std::string_view way_out);

/// The error of the first of @p reasons whose code @p fits. @param otherwise the error if no code fits
template <class Code, std::size_t Count, class Predicate>
errc reason_in(std::pair<Code, errc> const (&reasons)[Count], Predicate fits, errc otherwise = errc::server_error)
{
    auto const* const known =
        std::find_if(std::begin(reasons), std::end(reasons), [&](auto& r) { return fits(r.first); });
    return known != std::end(reasons) ? known->second : otherwise;
}

}  // namespace redlock::stores::kit
