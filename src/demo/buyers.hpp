#pragma once

#include "demo/shop.hpp"

#include <redlock/options.hpp>
#include <redlock/store.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace redlock::demo {

/// Buyers who come to the shop from one process, each of them a coroutine.
struct crowd {
    std::vector<std::string> nodes{};  ///< the lock servers; empty: they buy without a lock
    std::vector<store> stores{};       ///< what their addresses mean
    acquire_options lock{};            ///< how they acquire
    std::size_t buyers = 1;
    std::chrono::microseconds first_arrival{0};  ///< after the doors have opened
    std::chrono::microseconds arrival_interval{0};
    std::chrono::microseconds database_time{0};  ///< from reading the stock to writing it back, more or less
    bool come_again = false;                     ///< they buy over and over, until the shop closes
    std::int64_t reorder = 0;                    ///< what a buyer has delivered who finds an item gone; 0: nothing
    std::size_t accountants = 0;                 ///< who read all books over and over, beside each other
    std::size_t fewest_items = 1;                ///< Each buyer wants so many different items …
    std::size_t most_items = 1;                  ///< … or more, up to 10, by chance.
};

/// Runs the coroutines until every buyer was served or sent away, or the shop has closed.
void run_buyers(shop& s, crowd const& c);

}  // namespace redlock::demo
