#pragma once

#include "versus/peers.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace redlock::bench {

struct options {
    std::vector<std::string> scenarios;
    std::vector<std::string> nodes;  ///< URLs; empty: start servers
    std::size_t count = 5;
    std::string server;
    std::size_t clients = 0;  ///< 0: the default of the scenario
    double rate = 0;
    std::optional<std::chrono::microseconds> hold;  ///< default: chosen by the scenario
    std::chrono::microseconds rtt{1000};
    std::size_t locks = 10'000;
    std::size_t processes = 4;
    std::size_t sessions = 10'000;
    std::size_t note = 0;  ///< bytes
    std::chrono::milliseconds ttl{10'000};
    std::size_t rounds = 5;
    std::chrono::milliseconds duration{1500};
    std::vector<int> pin;
    std::string workers;                  ///< folder of the workers of `versus`; empty: measure no peers
    std::vector<std::string> peer_names;  ///< empty: all
    std::vector<peer> peers;              ///< of `versus`, as found there
    std::string json, plot;
    std::string before, after;  ///< of --compare
};

/// The command line for result files, without users and passwords.
std::string command_line(std::vector<std::string> const& arguments);

/// @throws cli::early_exit
options parse(std::vector<std::string> arguments);

}  // namespace redlock::bench
