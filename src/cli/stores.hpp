#pragma once

#include <redlock/store.hpp>

#include <vector>

namespace redlock::cli {

/// Those that this build has.
std::vector<store> known_stores();

}  // namespace redlock::cli
