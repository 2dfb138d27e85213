#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;

namespace shop {

struct item {
    std::string name;
    std::int64_t left = 0;
    std::int64_t was = 0;   ///< at the beginning, or after the latest restocking
    std::int64_t sold = 0;  ///< since then, by the orders
};

struct order {
    std::int64_t number = 0;
    std::string item;
    std::int64_t count = 0;
    std::uint64_t fence = 0;
    std::int64_t ms = 0;  ///< that the buyer waited
    std::int64_t age_ms = 0;
};

/// What a request was answered with, so that a repetition can be answered again.
struct answer {
    unsigned status = 0;
    std::string body;
};

/** Stock, orders and answers, in an SQLite database that several processes may share.

    Every call is one transaction, and blocks for it: call it on a thread that may. The statements are plain SQL; for a
    server database change `BEGIN IMMEDIATE`, and docs/fencing.md has the rest.
*/
class stock {
public:
    /// @throws std::runtime_error with the path and SQLite's words
    explicit stock(std::string const& path);
    ~stock();
    stock(stock const&) = delete;
    stock& operator=(stock const&) = delete;

    /// Puts @p items there that are not there yet.
    void fill(std::vector<item> const& items);
    /// As it was, and without orders.
    void restock();

    std::vector<item> items();
    std::vector<order> latest_orders(int count);

    // A request with an Idempotency-Key.
    enum class claim { new_one, in_flight, other_body };
    struct claimed {
        claim what = claim::new_one;
        std::int64_t number = 0;       ///< of the new claim
        std::optional<answer> before;  ///< it has been answered: this is the answer
    };
    /** Claims @p key for a request with this @p body, unless somebody has. A claim whose process died is void after @p
        at_most; who comes back later finds that it is void. Answers are kept for a day. */
    claimed begin(std::string const& key, std::string const& body, std::chrono::milliseconds at_most);
    /// The request came to nothing: it may be tried again.
    void give_up(std::int64_t claim);

    /// Whether there is such an item. Before anything is kept, or locked, for it: names come from clients.
    bool knows(std::string const& item);

    struct sale {
        enum class outcome { sold, sold_out, unknown_item, superseded, claim_is_void } what = outcome::sold;
        std::int64_t number = 0;
        std::int64_t left = 0;
    };
    /** Sells, and keeps the answer to the request with it: both or nothing.

        @param fence the fencing token of the lock. Who has a smaller one than a later holder is superseded, also who
          has none: 0.
        @param claim of the request; 0: it has no key
    */
    sale sell(std::string const& item, std::int64_t count, std::uint64_t fence, std::int64_t ms, std::int64_t claim);

    /// How many pieces more than there were have been sold, over all items. The database's own sum: 0, or something is
    /// wrong.
    std::int64_t oversold();

private:
    class statement;
    class transaction;
    [[noreturn]] void fail(std::string const& what);
    void run(char const* sql);
    std::int64_t value_of(char const* sql);

    static constexpr std::int64_t layout = 1;  ///< of the tables

    std::string const path_;
    sqlite3* db_ = nullptr;
};

/// The answers to a sale, in JSON.
answer answer_to(stock::sale const&, std::string const& item, std::int64_t count);

}  // namespace shop
