#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace redlock::demo {

/** The shop of one act: its books, in memory that all processes share.

    A stock is only ever read, and written back later, as a program does that asks a database for a row, computes,
    and updates the row. It is an atomic so that processes may share it at all; nobody adds or subtracts atomically.
    The counters are exact: they bear witness.
*/
struct shop {
    using number = std::atomic<std::int64_t>;
    static_assert(number::is_always_lock_free, "a lock inside the atomic would not be shared between processes");

    struct item {
        char const* name = nullptr;
        number stock{0};      ///< pieces left, as far as the books know
        number delivered{0};  ///< ever, the first delivery included
        number sold{0};
    };

    struct orders {
        number sold{0};
        number longest_wait{0};  ///< for the lock, in microseconds
    };

    /// Of reports: what they say of an item.
    struct lines {
        number right{0};  ///< what is left and what was sold is what was delivered
        number wrong{0};
    };

    /// So many of each of the first @p kinds of items, 1 to 20.
    shop(std::int64_t first_delivery, std::size_t kinds);

    std::int64_t stock() const;  ///< Of all items together; and so the others.
    std::int64_t delivered() const;
    std::int64_t sold() const;

    std::int64_t const first_delivery;  ///< of all items together
    std::size_t const kinds;
    std::array<item, 20> items;
    std::array<orders, 11> by_size;  ///< what was ordered: so many different items, one piece of each
    lines lines_under_lock;
    lines lines_without;
    number sent_away{0};  ///< came when one of the items was gone
    number waiting{0};    ///< buyers who have come and are neither served nor sent away
    number paying{0};     ///< buyers who are between reading the stock and writing it back

    number no_quorum{0};  ///< tries that ended with this error …
    number contended{0};  ///< … and so on
    number validity_exhausted{0};
    number lost{0};

    number ready{0};  ///< processes that wait for the doors to open
    std::atomic<bool> open{false};
    std::atomic<bool> closed{false};  ///< no further tries
    std::atomic<bool> database_hangs{false};
};

/// Of the lock that guards the books of an item.
std::string lock_name(shop::item const& i);

struct shop_demolition {
    void operator()(shop*) const noexcept;
};

/// Shared with the processes that are forked later.
using shop_pointer = std::unique_ptr<shop, shop_demolition>;

/// @throws std::system_error if there is no memory
shop_pointer build_shop(std::int64_t first_delivery, std::size_t kinds);

}  // namespace redlock::demo
