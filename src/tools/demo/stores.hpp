#pragma once

#include "tools/demo/options.hpp"
#include "tools/demo/progress.hpp"

namespace redlock::demo {

/// Plays the sale over each installed store, and over a mixture of two. Each server is killed and started again.
/// @throws std::runtime_error if a server does not start
void play_stores(progress&, options const&);

}  // namespace redlock::demo
