#pragma once

#include "versus/faults.hpp"
#include "versus/peers.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace redlock::versus {

/// The command line of redlock_versus.
struct choice {
    std::vector<std::string> peers;   ///< empty: all
    std::vector<std::string> faults;  ///< empty: all
    std::size_t jobs = 4;
    std::string json;
    std::string folder;  ///< of the worker programs
    bool list = false;
};

/// @throws cli::early_exit
choice parse(std::vector<std::string> arguments);

/// @throws std::runtime_error that names @p wanted and lists the names of @p all, if there is no such name
std::vector<bench::peer> chosen(std::vector<bench::peer> all, std::vector<std::string> const& wanted);
std::vector<fault> chosen(std::vector<fault> all, std::vector<std::string> const& wanted);

}  // namespace redlock::versus
