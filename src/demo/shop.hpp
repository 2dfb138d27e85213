#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace redlock::demo {

/** The shop of one act: its books, in memory that all processes share.

    The stock is only ever read, and written back later, as a program does that asks a database for a row, computes,
    and updates the row. It is an atomic so that processes may share it at all; nobody adds or subtracts atomically.
    The counters are exact: they bear witness.
*/
struct shop {
    using number = std::atomic<std::int64_t>;
    static_assert(number::is_always_lock_free, "a lock inside the atomic would not be shared between processes");

    explicit shop(std::int64_t n) : first_delivery(n), stock(n), delivered(n) {}

    std::int64_t const first_delivery;
    number stock;                         ///< hair dryers left, as far as the books know
    number delivered;                     ///< ever, the first delivery included
    number sold{0};
    number sent_away{0};                  ///< came when the stock was gone
    number waiting{0};                    ///< buyers who have come and are neither served nor sent away
    number paying{0};                     ///< buyers who are between reading the stock and writing it back

    number no_quorum{0};                  ///< tries that ended with this error …
    number contended{0};                  ///< … and so on
    number validity_exhausted{0};
    number lost{0};

    number ready{0};                      ///< processes that wait for the doors to open
    std::atomic<bool> open{false};
    std::atomic<bool> closed{false};      ///< no further tries
    std::atomic<bool> database_hangs{false};
};

struct shop_demolition {
    void operator()(shop*) const noexcept;
};

/// Shared with the processes that are forked later.
using shop_pointer = std::unique_ptr<shop, shop_demolition>;

/// @throws std::system_error if there is no memory
shop_pointer build_shop(std::int64_t first_delivery);

}  // namespace redlock::demo
