#pragma once

#include "tools/demo/shop.hpp"

#include <redlock/options.hpp>
#include <redlock/store.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace redlock::demo {

/// The buyers of one process; each buyer is a coroutine.
struct crowd {
    std::vector<std::string> nodes{};  ///< the lock servers; empty: buyers take no lock
    std::vector<store> stores{};       ///< the stores whose addresses `nodes` may contain
    acquire_options lock{};            ///< the options of each acquisition
    std::size_t buyers = 1;
    std::chrono::microseconds first_arrival{0};  ///< after the doors have opened
    std::chrono::microseconds arrival_interval{0};
    std::chrono::microseconds database_time{0};  ///< mean time from reading the stock to writing it
    bool come_again = false;                     ///< each buyer returns until the shop closes
    std::int64_t reorder = 0;                    ///< pieces that a buyer orders if an item is sold out; 0: none
    std::size_t accountants = 0;                 ///< coroutines that read all books again and again
    std::size_t fewest_items = 1;                ///< different items in an order: a random number from this …
    std::size_t most_items = 1;                  ///< … to this, at most 10
};

/// Runs the coroutines until every buyer is served or sent away, or the shop closes.
void run_buyers(shop& s, crowd const& c);

}  // namespace redlock::demo
