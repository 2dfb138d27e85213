#pragma once

#include "demo/options.hpp"
#include "demo/progress.hpp"

namespace redlock::demo {

/// The sale over each store that is here, and over some of them together; each is killed and comes back.
/// @throws std::runtime_error if there is none
void play_stores(progress&, options const&);

}  // namespace redlock::demo
