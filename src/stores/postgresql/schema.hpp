#pragma once

#include "stores/kit/steps.hpp"

#include <string_view>

namespace redlock::stores::postgresql {

/// An expression for SELECT: whether the server keeps all confirmed writes if it is killed. The expression does not
/// check `synchronous_commit`, because the functions switch it on in every session.
inline constexpr auto is_durable = "current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on' "
                                   "AND (SELECT relpersistence FROM pg_class WHERE oid = 'redlock'::regclass) = 'p'";

/// The version of the functions in @ref schema.
inline constexpr auto schema_version = "3";

/// The text of schema.sql, which creates tables and functions.
std::string_view schema() noexcept;

using kit::for_table;

}  // namespace redlock::stores::postgresql
