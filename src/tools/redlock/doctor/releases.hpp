#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace redlock::cli::doctor {

/// The life of a server's release, as far as this version of redlock knows it.
struct release_life {
    bool is_known = false;
    bool is_newer = false;                        ///< newer than every known release
    std::optional<std::chrono::sys_days> ends{};  ///< its end of life; nothing: not announced
};

/// @param server   "redis" or "valkey"
/// @param version  "7.0.15"
release_life life_of(std::string_view server, std::string_view version);

/// Returns 602 for "6.2.14", and 0 if @p version is not a version.
unsigned release_number(std::string_view version);

}  // namespace redlock::cli::doctor
