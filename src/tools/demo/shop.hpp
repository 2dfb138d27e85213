#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace redlock::demo {

/** The shop of one act: its books, in memory that all processes share.

    A buyer reads a stock and writes it back later, like a program that reads a row of a database, computes, and updates
    the row. The stock is an atomic because processes share it; no process adds or subtracts atomically.
    The counters are exact: the claims compare the stocks with them.
*/
struct shop {
    using number = std::atomic<std::int64_t>;
    static_assert(number::is_always_lock_free, "a lock inside the atomic would not be shared between processes");

    struct item {
        char const* name = nullptr;
        number stock{0};      ///< pieces left according to the books
        number delivered{0};  ///< in total, the first delivery included
        number sold{0};
    };

    struct orders {
        number sold{0};
        number longest_wait{0};  ///< for the lock, in microseconds
    };

    /// The lines of reports; a line is about one item.
    struct lines {
        number right{0};  ///< the pieces left and sold add up to those delivered
        number wrong{0};
    };

    /// @p kinds items, 1 to 20, with @p first_delivery pieces each
    shop(std::int64_t first_delivery, std::size_t kinds);

    std::int64_t stock() const;  ///< sums over all items, like the next two
    std::int64_t delivered() const;
    std::int64_t sold() const;

    std::int64_t const first_delivery;  ///< of all items together
    std::size_t const kinds;
    std::array<item, 20> items;
    std::array<orders, 11> by_size;  ///< orders by their number of different items, one piece of each
    lines lines_under_lock;
    lines lines_without;
    number sent_away{0};  ///< buyers who found an item sold out
    number waiting{0};    ///< buyers who are neither served nor sent away yet
    number paying{0};     ///< buyers who are between reading the stock and writing it back

    number no_quorum{0};  ///< this and the next three: tries that ended with this error
    number contended{0};
    number validity_exhausted{0};
    number lost{0};

    number ready{0};  ///< processes that wait for the doors to open
    std::atomic<bool> open{false};
    std::atomic<bool> closed{false};  ///< no further tries
    std::atomic<bool> database_hangs{false};
};

/// The name of the lock that protects the books of an item.
std::string lock_name(shop::item const& i);

struct shop_deleter {
    void operator()(shop*) const noexcept;
};

/// Processes that are forked later share the shop.
using shop_pointer = std::unique_ptr<shop, shop_deleter>;

/// @throws std::system_error if there is no memory
shop_pointer build_shop(std::int64_t first_delivery, std::size_t kinds);

}  // namespace redlock::demo
