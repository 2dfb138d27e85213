#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::demo {

struct options {
    std::int64_t stock = 100;
    std::size_t buyers = 1000;
    std::string server;
    int act = 0;  ///< plays this act only; 0: all
    bool stores = false;
};

/// @throws cli::early_exit
options parse(std::vector<std::string> arguments);

}  // namespace redlock::demo
