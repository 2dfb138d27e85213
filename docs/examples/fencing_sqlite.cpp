// A fencing token in a table of SQLite: the table refuses a holder that was paused for longer than its lock lasts.

#include <redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>

#include <boost/asio.hpp>

#include <sqlite3.h>

#include <cstdint>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

class database {
public:
    database()
    {
        if (sqlite3_open(":memory:", &db_) != SQLITE_OK)
            fail();
    }
    ~database() { sqlite3_close(db_); }
    database(database const&) = delete;
    database& operator=(database const&) = delete;

    // Binds ?1 and so on. Returns the first number of the first row, if there is a row.
    std::optional<std::int64_t> run(char const* sql, std::vector<std::int64_t> const& parameters = {})
    {
        sqlite3_stmt* statement = nullptr;
        if (sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr) != SQLITE_OK)
            fail();
        for (int i = 0; auto const p : parameters)
            sqlite3_bind_int64(statement, ++i, p);
        std::optional<std::int64_t> answer;
        if (sqlite3_step(statement) == SQLITE_ROW)
            answer = sqlite3_column_int64(statement, 0);
        if (sqlite3_finalize(statement) != SQLITE_OK)
            fail();
        return answer;
    }

private:
    [[noreturn]] void fail() { throw std::runtime_error(sqlite3_errmsg(db_)); }

    sqlite3* db_ = nullptr;
};

//[sell_one
// Returns false if a newer holder has entered. Then nothing was sold.
asio::awaitable<bool> sell_one(redlock::lock_manager& locks, database& db, asio::awaitable<void> wrap_it_up)
{
    redlock::lock held = co_await locks.async_acquire("stock:dryer", {.ttl = 200ms, .wait = 1min});
    auto const token = static_cast<std::int64_t>(held.fencing_token());

    // Enter and read in one statement.
    auto const left =
        db.run("UPDATE stock SET fence = ?1 WHERE item = 'dryer' AND fence <= ?1 RETURNING pieces", {token});
    if (!left)
        co_return false;

    co_await std::move(wrap_it_up);  // may take longer than the lock lasts

    // Write, only if nobody has entered since.
    auto const sold =
        db.run("UPDATE stock SET pieces = ?2 WHERE item = 'dryer' AND fence = ?1 RETURNING pieces", {token, *left - 1});
    co_return sold.has_value();
}
//]

asio::awaitable<void> at_once() { co_return; }

// Stands for a pause in which the lock ends and another client sells a piece.
asio::awaitable<void> pause(redlock::lock_manager& locks, database& db, bool& other_sold)
{
    other_sold = co_await sell_one(locks, db, at_once());
}

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};

    database db;
    db.run("CREATE TABLE stock (item TEXT PRIMARY KEY NOT NULL, pieces INTEGER NOT NULL)");
    db.run("INSERT INTO stock VALUES ('dryer', 10)");
    //[table
    db.run("ALTER TABLE stock ADD fence INTEGER NOT NULL DEFAULT 1 CHECK (fence > 0)");
    //]

    asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = nodes, .fencing = true});
    bool slow_sold = true, other_sold = false;
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            slow_sold = co_await sell_one(locks, db, pause(locks, db, other_sold));
            co_await locks.async_shutdown();
        },
        [](std::exception_ptr failure) {
            if (failure)
                std::rethrow_exception(failure);
        });
    context.run();

    auto const left = db.run("SELECT pieces FROM stock");
    std::cout << "the other one sold: " << other_sold << ", the slow one sold: " << slow_sold << ", left: " << *left
              << '\n';
    return other_sold && !slow_sold && left == 9 ? 0 : 1;
}
