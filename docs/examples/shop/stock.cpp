#include "stock.hpp"

#include <boost/json.hpp>
#include <sqlite3.h>

#include <stdexcept>
#include <utility>

namespace shop {

namespace json = boost::json;

// A prepared statement. Parameters are bound by position.
class stock::statement {
public:
    template <class... Args>
    statement(stock& s, char const* sql, Args const&... args) : stock_(s)
    {
        if (sqlite3_prepare_v2(s.db_, sql, -1, &it_, nullptr) != SQLITE_OK)
            s.fail(sql);
        int position = 0;
        (bind(++position, args), ...);
    }
    ~statement() { sqlite3_finalize(it_); }
    statement(statement const&) = delete;
    statement& operator=(statement const&) = delete;

    /// @return whether there is a row
    bool step()
    {
        int const r = sqlite3_step(it_);
        if (r != SQLITE_ROW && r != SQLITE_DONE)
            stock_.fail(sqlite3_sql(it_));
        return r == SQLITE_ROW;
    }

    std::int64_t number(int column) const { return sqlite3_column_int64(it_, column); }
    bool is_null(int column) const { return sqlite3_column_type(it_, column) == SQLITE_NULL; }
    std::string text(int column) const
    {
        auto const* const t = reinterpret_cast<char const*>(sqlite3_column_text(it_, column));
        return t ? std::string(t, static_cast<std::size_t>(sqlite3_column_bytes(it_, column))) : std::string();
    }

private:
    void bind(int at, std::int64_t n) { check(sqlite3_bind_int64(it_, at, n)); }
    void bind(int at, std::uint64_t n) { bind(at, static_cast<std::int64_t>(n)); }  // tokens are less than 2^53
    void bind(int at, std::string const& s)
    {
        check(sqlite3_bind_text(it_, at, s.data(), static_cast<int>(s.size()), SQLITE_TRANSIENT));
    }
    void check(int r)
    {
        if (r != SQLITE_OK)
            stock_.fail("binding");
    }

    stock& stock_;
    sqlite3_stmt* it_ = nullptr;
};

// A transaction that locks the database for writing at its begin, so its reads are still true when it writes.
// The destructor rolls it back, unless it is committed.
class stock::transaction {
public:
    explicit transaction(stock& s) : stock_(s) { s.run("BEGIN IMMEDIATE"); }
    ~transaction()
    {
        if (!committed_)
            sqlite3_exec(stock_.db_, "ROLLBACK", nullptr, nullptr, nullptr);
    }
    transaction(transaction const&) = delete;
    transaction& operator=(transaction const&) = delete;
    void commit()
    {
        stock_.run("COMMIT");
        committed_ = true;
    }

private:
    stock& stock_;
    bool committed_ = false;
};

std::int64_t stock::value_of(char const* sql)
{
    statement s(*this, sql);
    s.step();
    return s.number(0);
}

stock::stock(std::string const& path) : path_(path)
{
    if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) {
        auto const why = std::string(sqlite3_errmsg(db_));
        sqlite3_close(db_);
        throw std::runtime_error("cannot open the database " + path + ": " + why);
    }
    // Another process may be writing, and a disk may be slow. Orders have shorter timeouts of their own.
    sqlite3_busy_timeout(db_, 60'000);
    try {
        run("PRAGMA journal_mode = WAL");
        run("PRAGMA synchronous = FULL");  // an answered order survives a power cut
        transaction t(*this);              // another process may create the tables at the same time
        if (value_of("PRAGMA user_version") != layout && value_of("SELECT COUNT(*) FROM sqlite_master") > 0)
            throw std::runtime_error("database " + path
                                     + ": its tables are those of another version; name another file");
        run(("PRAGMA user_version = " + std::to_string(layout)).c_str());
        run("CREATE TABLE IF NOT EXISTS stock (item TEXT PRIMARY KEY, remaining INTEGER NOT NULL, was INTEGER NOT NULL,"
            " sold INTEGER NOT NULL DEFAULT 0, fence INTEGER NOT NULL DEFAULT 0)");
        run("CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY, item TEXT NOT NULL, count INTEGER NOT NULL,"
            " fence INTEGER NOT NULL, ms INTEGER NOT NULL, at REAL NOT NULL)");
        // AUTOINCREMENT never reuses a number, so a void claim cannot be mistaken for a later claim of the same key.
        run("CREATE TABLE IF NOT EXISTS requests (number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, "
            "body TEXT NOT NULL,"
            " status INTEGER, answer TEXT, until REAL NOT NULL)");
        run("CREATE INDEX IF NOT EXISTS requests_until ON requests (until)");
        t.commit();
    } catch (...) {
        sqlite3_close(db_);
        throw;
    }
}

stock::~stock() { sqlite3_close(db_); }

void stock::fail(std::string const& what)
{
    throw std::runtime_error("database " + path_ + ": " + sqlite3_errmsg(db_) + " (" + what + ")");
}

void stock::run(char const* sql)
{
    if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
        fail(sql);
}

void stock::fill(std::vector<item> const& items)
{
    transaction t(*this);
    for (auto const& i : items)
        statement(*this, "INSERT INTO stock (item, remaining, was) VALUES (?, ?, ?) ON CONFLICT (item) DO NOTHING",
                  i.name, i.was, i.was)
            .step();
    t.commit();
}

void stock::restock()
{
    transaction t(*this);
    run("DELETE FROM orders");
    run("DELETE FROM requests");
    run("UPDATE stock SET remaining = was, sold = 0");
    t.commit();
}

std::vector<item> stock::items()
{
    statement s(*this, "SELECT item, remaining, was, sold FROM stock ORDER BY item");
    std::vector<item> all;
    while (s.step())
        all.push_back({s.text(0), s.number(1), s.number(2), s.number(3)});
    return all;
}

std::vector<order> stock::latest_orders(int count)
{
    statement s(*this,
                "SELECT number, item, count, fence, ms, CAST((julianday('now') - at) * 86400000 AS INTEGER) FROM orders"
                " ORDER BY number DESC LIMIT ?",
                std::int64_t{count});
    std::vector<order> all;
    while (s.step())
        all.push_back(
            {s.number(0), s.text(1), s.number(2), static_cast<std::uint64_t>(s.number(3)), s.number(4), s.number(5)});
    return all;
}

std::int64_t stock::oversold()
{
    statement s(*this, "SELECT COALESCE(SUM(MAX(0, -remaining, sold - was)), 0) FROM stock");
    s.step();
    return s.number(0);
}

stock::claimed stock::begin(std::string const& key, std::string const& body, std::chrono::milliseconds at_most)
{
    transaction t(*this);
    run("DELETE FROM requests WHERE until < julianday('now')");
    statement before(*this, "SELECT body, status, answer FROM requests WHERE key = ?", key);
    if (before.step()) {
        if (before.text(0) != body)
            return {claim::other_body, 0, {}};
        if (before.is_null(1))
            return {claim::in_flight, 0, {}};
        return {claim::new_one, 0, answer{static_cast<unsigned>(before.number(1)), before.text(2)}};
    }
    statement(*this, "INSERT INTO requests (key, body, until) VALUES (?, ?, julianday('now') + ? / 86400000.0)", key,
              body, at_most.count())
        .step();
    auto const number = sqlite3_last_insert_rowid(db_);
    t.commit();
    return {claim::new_one, number, {}};
}

void stock::give_up(std::int64_t claim)
{
    transaction t(*this);
    statement(*this, "DELETE FROM requests WHERE number = ? AND status IS NULL", claim).step();
    t.commit();
}

bool stock::knows(std::string const& item)
{
    return statement(*this, "SELECT 1 FROM stock WHERE item = ?", item).step();
}

//[sell
stock::sale stock::sell(std::string const& item, std::int64_t count, std::uint64_t fence, std::int64_t ms,
                        std::int64_t claim)
{
    transaction t(*this);
    statement now(*this, "SELECT remaining FROM stock WHERE item = ?", item);
    if (!now.step())
        return {sale::outcome::unknown_item};
    statement(*this, "UPDATE stock SET fence = ? WHERE item = ? AND fence <= ?", fence, item, fence).step();
    if (sqlite3_changes(db_) == 0)
        return {sale::outcome::superseded};  // a later holder has entered
    sale s{.left = now.number(0)};
    if (s.left < count) {
        s.what = sale::outcome::sold_out;
    } else {
        s.left -= count;
        statement(*this, "UPDATE stock SET remaining = ?, sold = sold + ? WHERE item = ?", s.left, count, item).step();
        statement(*this, "INSERT INTO orders (item, count, fence, ms, at) VALUES (?, ?, ?, ?, julianday('now'))", item,
                  count, fence, ms)
            .step();
        s.number = sqlite3_last_insert_rowid(db_);
    }
    auto const said = answer_to(s, item, count);
    if (claim != 0) {
        statement(*this,
                  "UPDATE requests SET status = ?, answer = ?, until = julianday('now') + 1"
                  " WHERE number = ? AND status IS NULL",
                  std::int64_t{said.status}, said.body, claim)
            .step();
        if (sqlite3_changes(db_) == 0)
            return {sale::outcome::claim_is_void};  // the claim has expired: nothing is sold
    }
    t.commit();
    return s;
}
//]

answer answer_to(stock::sale const& s, std::string const& item, std::int64_t count)
{
    using outcome = stock::sale::outcome;
    auto const problem = [](unsigned status, char const* type, char const* title, std::string const& detail) {
        return answer{status, json::serialize(json::object{
                                  {"type", type}, {"title", title}, {"status", status}, {"detail", detail}})};
    };
    switch (s.what) {
    case outcome::sold:
        return {201,
                json::serialize(json::object{{"order", s.number}, {"item", item}, {"count", count}, {"left", s.left}})};
    case outcome::sold_out:
        return problem(410, "urn:shop:sold-out", "Sold out", "There are " + std::to_string(s.left) + " left.");
    case outcome::unknown_item:
        return problem(422, "urn:shop:unknown-item", "No such item", "GET /stock lists what there is.");
    case outcome::claim_is_void:
        return problem(409, "urn:shop:in-flight", "Too late",
                       "Another request with this Idempotency-Key has taken its place.");
    case outcome::superseded:
        break;
    }
    return problem(503, "urn:shop:superseded", "Too late", "A later order was served first.");
}

}  // namespace shop
