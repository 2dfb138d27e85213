#pragma once

#include "shop.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace shop {

struct options {
    settings how;
    std::uint16_t port = 8080;
    std::size_t threads = 2;
    std::int64_t pieces = 25;
    bool demo = false;
    bool help = false;
    bool version = false;
};

extern char const usage[];

/// Nothing if one of them is wrong; it has been said on stderr why.
std::optional<options> parse(std::vector<std::string_view> const& arguments);

}  // namespace shop
