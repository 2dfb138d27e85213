#pragma once

#include "result.hpp"

namespace redlock::bench {

/// A run as a page that needs nothing but itself: no script, no other file, no network.
std::string to_html(run const& r);

}  // namespace redlock::bench
