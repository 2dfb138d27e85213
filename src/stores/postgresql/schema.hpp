#pragma once

#include "stores/kit/steps.hpp"

#include <string_view>

namespace redlock::stores::postgresql {

/// Whether the server would lose nothing that it has confirmed, if it were killed: of a SELECT. `synchronous_commit` is
/// not in it: the functions switch it on, whatever the session of this or another client has.
inline constexpr auto is_durable = "current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on' "
                                   "AND (SELECT relpersistence FROM pg_class WHERE oid = 'redlock'::regclass) = 'p'";

/// The version of the functions that @ref schema makes.
inline constexpr auto schema_version = "3";

/// What makes tables and functions: the text of schema.sql.
std::string_view schema() noexcept;

using kit::for_table;

}  // namespace redlock::stores::postgresql
