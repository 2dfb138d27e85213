#pragma once

#include "tools/redlock/args/service_url.hpp"

#include <redlock/manager_options.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace redlock::cli {

/// The output format of a command.
enum class format : std::uint8_t { table, json, jsonl, prometheus };

enum class when : std::uint8_t { automatically, always, never };

/// The values of the options that every command has.
struct settings {
    redlock::manager_options locks;  ///< contains passwords
    /// The instances of a service that acquires locks instead of this process. If there are any, there are no nodes.
    std::vector<service_url> services{};
    format output = format::table;
    when color = when::automatically;
    bool verbose = false;
    bool quiet = false;

    /// Whether to print colours to a file descriptor. `automatically`: if it is a terminal and $NO_COLOR is empty.
    bool has_color(int descriptor) const;
};

/// Adds @p password to @p url, unless the URL contains one.
std::string with_password(std::string const& url, std::string const& password);

}  // namespace redlock::cli
