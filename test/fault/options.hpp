#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::test {

struct soak_options {
    int seconds = 60;
    std::uint64_t seed = 1;
    std::size_t processes = 3;
    std::size_t servers = 5;
    bool forgetful = false;
    bool without_lock = false;
    bool fencing = false;
    bool rolling = false;
    bool transfers = false;
    bool audit = false;
    bool raise_early = false;
    std::string moving;  ///< the program that raises counters
    std::string clock_shim;
    std::vector<std::string> nodes;
    std::vector<std::string> links;

    /// Whether the workers have tokens and never check whether they still hold their locks. Then workers are often
    /// stopped and killed.
    bool naive_workers() const { return fencing || transfers; }
};

/// @throws cli::early_exit
soak_options parse(std::vector<std::string> arguments);

}  // namespace redlock::test
