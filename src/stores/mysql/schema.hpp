#pragma once

#include "stores/kit/steps.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::mysql {

/// The text of schema.sql, which creates tables and procedures.
std::string_view schema() noexcept;

using kit::for_table;

/// The statements of @p text, one by one, as the program `mysql` would send them.
std::vector<std::string> statements_of(std::string_view text);

}  // namespace redlock::stores::mysql
