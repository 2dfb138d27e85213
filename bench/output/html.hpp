#pragma once

#include "result.hpp"

#include <string>
#include <string_view>

namespace redlock::bench {

/// page.html with what it refers to, as they were when the program was built. It has no data.
extern std::string_view const page;

/// A page that shows a run and needs nothing but itself: what @ref to_json writes, and a script that draws it.
std::string to_html(run const& r);

}  // namespace redlock::bench
