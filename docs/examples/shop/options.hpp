#pragma once

#include "shop.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace shop {

struct options {
    settings how;
    std::uint16_t port = 8080;
    std::size_t threads = 2;
    std::int64_t pieces = 25;
    bool demo = false;
};

/// @throws redlock::cli::early_exit
options parse(std::vector<std::string> arguments);

}  // namespace shop
