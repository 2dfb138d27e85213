#pragma once

#include "result.hpp"

#include <string_view>

namespace redlock::bench {

/** Writes a run as JSON. Later versions of the program can read it.

    Figures keep five significant digits. Absent figures and those that are not finite are null.
*/
std::string to_json(run const& r);

/** Reads the output of @ref to_json. Unknown fields are ignored.

    @param file_name for the messages.
    @throws std::runtime_error naming the file, the field and the expected type.
*/
run from_json(std::string_view text, std::string_view file_name);

}  // namespace redlock::bench
