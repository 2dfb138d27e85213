#pragma once

#include <string>
#include <string_view>

namespace redlock::pg {

/// What makes tables and functions: the text of schema.sql.
std::string_view schema() noexcept;

/// @p text with @p table in the place of the default's name.
std::string for_table(std::string_view text, std::string_view table);

}  // namespace redlock::pg
