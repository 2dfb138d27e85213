#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::demo {

struct options {
    std::int64_t stock = 100;
    std::size_t buyers = 1000;
    std::string server;
    bool help = false;
    bool version = false;
};

extern char const usage[];

/// Nothing if an option is wrong; it has then been said what.
std::optional<options> parse(std::vector<std::string_view> const& arguments);

}  // namespace redlock::demo
