#pragma once

#include "cli/description.hpp"

#include <string>
#include <vector>

namespace redlock::cli {

/// The manual page redlock(1). @param commands  all that there are
std::string manual_page(std::vector<command_text> const& commands);

/// redlock-COMMAND(1).
std::string manual_page(command_text const&);

}  // namespace redlock::cli
