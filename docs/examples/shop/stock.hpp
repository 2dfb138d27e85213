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
    std::int64_t was = 0;   ///< pieces at the beginning, or after the latest restocking
    std::int64_t sold = 0;  ///< pieces sold since then
};

struct order {
    std::int64_t number = 0;
    std::string item;
    std::int64_t count = 0;
    std::uint64_t fence = 0;
    std::int64_t ms = 0;  ///< from the request to the sale: the wait and the work
    std::int64_t age_ms = 0;
};

/// The stored answer to a request, for repetitions of the request.
struct answer {
    unsigned status = 0;
    std::string body;
};

/** Stock, orders and answers, in an SQLite database that several processes may share.

    Each call is one transaction, and blocks until it ends: call it on a thread that may block. The statements are plain
    SQL. For a database server, replace `BEGIN IMMEDIATE`; docs/fencing.md explains the rest.
*/
class stock {
public:
    /// @throws std::runtime_error with the path and SQLite's message
    explicit stock(std::string const& path);
    ~stock();
    stock(stock const&) = delete;
    stock& operator=(stock const&) = delete;

    /// Adds the @p items that do not exist yet.
    void fill(std::vector<item> const& items);
    /// Resets the stock, and deletes all orders.
    void restock();

    std::vector<item> items();
    std::vector<order> latest_orders(int count);

    // Claims of requests with an Idempotency-Key.
    enum class claim { new_one, in_flight, other_body };
    struct claimed {
        claim what = claim::new_one;
        std::int64_t number = 0;       ///< of the new claim
        std::optional<answer> before;  ///< the answer to an earlier request with the key
    };
    /** Claims @p key for a request with this @p body, unless another request has claimed it. A claim is void after
        @p at_most, in case its process has ended; sell() then refuses it. Answers are kept for a day. */
    claimed begin(std::string const& key, std::string const& body, std::chrono::milliseconds at_most);
    /// Ends a claim without an answer, so that the client may try again.
    void give_up(std::int64_t claim);

    /// Whether the item exists. Check this before locking it or storing anything, because names come from clients.
    bool knows(std::string const& item);

    struct sale {
        enum class outcome { sold, sold_out, unknown_item, superseded, claim_is_void } what = outcome::sold;
        std::int64_t number = 0;
        std::int64_t left = 0;
    };
    /** Sells, and stores the answer to the request, in one transaction.

        @param fence  the fencing token of the lock; 0: none. A later holder with a greater token supersedes this one
        @param claim  the number of the request's claim; 0: the request has no key
    */
    sale sell(std::string const& item, std::int64_t count, std::uint64_t fence, std::int64_t ms, std::int64_t claim);

    /// The number of pieces that were sold and did not exist, over all items. With locks, it must be 0.
    std::int64_t oversold();

private:
    class statement;
    class transaction;
    [[noreturn]] void fail(std::string const& what);
    void run(char const* sql);
    std::int64_t value_of(char const* sql);

    static constexpr std::int64_t layout = 1;  ///< version of the tables

    std::string const path_;
    sqlite3* db_ = nullptr;
};

/// The answers to a sale, in JSON.
answer answer_to(stock::sale const&, std::string const& item, std::int64_t count);

}  // namespace shop
