#pragma once

#include "tools/demo/progress.hpp"
#include "tools/demo/servers.hpp"

namespace redlock::demo {

/// Plays an act in which each order has several items and one lock on all of them, while two of five servers fail.
act_result book_orders(progress& p, servers& s);

}  // namespace redlock::demo
