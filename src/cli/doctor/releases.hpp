#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace redlock::cli::doctor {

/// The knowledge of this version of redlock about a release of a server.
struct release_life {
    bool is_known = false;
    bool is_newer = false;                        ///< than every release that is known
    std::optional<std::chrono::sys_days> ends{};  ///< its end of life; nothing: none is announced
};

/// @param server   "redis" or "valkey"
/// @param version  "7.0.15"
release_life life_of(std::string_view server, std::string_view version);

/// 602 for "6.2.14"; 0 if @p version is no version.
unsigned release_number(std::string_view version);

}  // namespace redlock::cli::doctor
