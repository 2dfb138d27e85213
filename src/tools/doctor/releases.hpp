#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace redlock::tools::doctor {

/// When a release of a server gets no further corrections. Nothing: it is not known here.
/// @param server   "redis" or "valkey"
/// @param version  "7.0.15"
std::optional<std::chrono::sys_days> end_of_life(std::string_view server, std::string_view version);

}  // namespace redlock::tools::doctor
