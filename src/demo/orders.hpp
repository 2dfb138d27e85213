#pragma once

#include "demo/progress.hpp"
#include "demo/servers.hpp"

namespace redlock::demo {

/// An act: orders of several items, each under one lock of all of them, while two of five servers fail.
act_result book_orders(progress& p, servers& s);

}  // namespace redlock::demo
