#pragma once

#include "sample.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace redlock::bench {

/// Runs cycles of each client in a thread of its own until @p duration is over.
/// @param cycle  gets the client and a random number below a million
template <class Client, class Cycle>
sample run_threads(std::vector<Client>& clients, std::chrono::milliseconds duration, Cycle cycle)
{
    std::atomic<std::uint64_t> cycles{0};
    auto const begin = std::chrono::steady_clock::now();
    {
        std::vector<std::jthread> threads;
        for (auto& client : clients) {
            threads.emplace_back([&] {
                std::minstd_rand random(std::random_device{}());
                for (; std::chrono::steady_clock::now() - begin < duration; ++cycles)
                    cycle(client, random() % 1'000'000);
            });
        }
    }
    sample result;
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    result.cycles = cycles;
    return result;
}

}  // namespace redlock::bench
