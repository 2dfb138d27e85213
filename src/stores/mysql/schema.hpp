#pragma once

#include "stores/kit/steps.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::mysql {

/// What makes tables and procedures: the text of schema.sql.
std::string_view schema() noexcept;

using kit::for_table;

/// The statements of @p text, one by one, as the client program would send them.
std::vector<std::string> statements_of(std::string_view text);

}  // namespace redlock::stores::mysql
