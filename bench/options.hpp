#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::bench {

struct options {
    std::vector<std::string> scenarios;
    std::vector<std::string> nodes;  ///< URLs; empty: servers of our own
    std::size_t count = 5;
    std::string server;
    std::size_t clients = 0;         ///< 0: what suits the scenario
    double rate = 0;
    std::optional<std::chrono::microseconds> hold;  ///< 1 ms where one is needed
    std::chrono::microseconds rtt{1000};
    std::size_t locks = 10'000;
    std::chrono::milliseconds ttl{10'000};
    std::size_t rounds = 5;
    std::chrono::milliseconds duration{1500};
    std::vector<int> pin;
    std::string json, csv, html;
    std::string before, after;       ///< of --compare
    bool help = false;
    bool version = false;
};

extern char const usage[];

/// What is written into results: the command, without users and passwords.
std::string command_line(std::vector<std::string_view> const& arguments);

/// @return why not, if the arguments make no sense
std::optional<std::string> parse(std::vector<std::string_view> const& arguments, options& into);

}  // namespace redlock::bench
