#pragma once

#include "result.hpp"

#include <string_view>

namespace redlock::bench {

/** A run as a file that later versions read, too.

    Figures keep five significant digits; what is absent, or no finite number, is null.
*/
std::string to_json(run const& r);

/** Reads what @ref to_json wrote. Fields it does not know are ignored.

    @param file_name for the messages.
    @throws std::runtime_error naming file, field and what was expected there.
*/
run from_json(std::string_view text, std::string_view file_name);

}  // namespace redlock::bench
