#pragma once

#include <redlock/config.hpp>

#include <cstdint>
#include <string>

namespace redlock::cli {

/// How what a command has found is printed.
enum class format : std::uint8_t { table, json, jsonl, prometheus };

enum class when : std::uint8_t { automatically, always, never };

/// What all commands have in common.
struct settings {
    redlock::config locks;  ///< with passwords
    format output = format::table;
    when color = when::automatically;
    bool verbose = false;
    bool quiet = false;

    /// Whether a stream is to have colours: as said, or if it is a terminal and $NO_COLOR is empty.
    bool has_color(int descriptor) const;
};

/// @p url with @p password, unless it has one.
std::string with_password(std::string const& url, std::string const& password);

}  // namespace redlock::cli
