// The outbox pattern, for jobs that must not be lost: a table of jobs in the database of the data. A worker takes a job
// that is due, tries to acquire the lock, and puts the job back if it fails. The example uses SQLite; docs/later.md
// also has PostgreSQL.

#include <redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace asio = boost::asio;
using namespace std::chrono_literals;

class database {
public:
    explicit database(std::string const& path)
    {
        if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK)
            fail();
        sqlite3_busy_timeout(db_, 10'000);
    }
    ~database() { sqlite3_close(db_); }
    database(database const&) = delete;
    database& operator=(database const&) = delete;

    void run(char const* sql)
    {
        if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
            fail();
    }

    class statement {
    public:
        template <class... Parameters>
        statement(database& db, char const* sql, Parameters const&... parameters) : db_(db)
        {
            if (sqlite3_prepare_v2(db.db_, sql, -1, &statement_, nullptr) != SQLITE_OK)
                db.fail();
            (bind(parameters), ...);
        }
        ~statement() { sqlite3_finalize(statement_); }
        statement(statement const&) = delete;
        statement& operator=(statement const&) = delete;

        bool step()
        {
            auto const result = sqlite3_step(statement_);
            if (result != SQLITE_ROW && result != SQLITE_DONE)
                db_.fail();
            return result == SQLITE_ROW;
        }
        std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
        std::string text(int column) const
        {
            return reinterpret_cast<char const*>(sqlite3_column_text(statement_, column));
        }

    private:
        void bind(std::int64_t value) { sqlite3_bind_int64(statement_, ++bound_, value); }
        void bind(std::string const& value)
        {
            sqlite3_bind_text(statement_, ++bound_, value.c_str(), -1, SQLITE_TRANSIENT);
        }

        database& db_;
        sqlite3_stmt* statement_ = nullptr;
        int bound_ = 0;
    };

    template <class... Parameters>
    bool changes_a_row(char const* sql, Parameters const&... parameters)
    {
        statement(*this, sql, parameters...).step();
        return sqlite3_changes(db_) == 1;
    }

    class transaction {
    public:
        explicit transaction(database& db) : db_(db) { db.run("BEGIN IMMEDIATE"); }
        ~transaction()
        {
            if (!committed_)
                sqlite3_exec(db_.db_, "ROLLBACK", nullptr, nullptr, nullptr);
        }
        transaction(transaction const&) = delete;
        transaction& operator=(transaction const&) = delete;
        void commit()
        {
            db_.run("COMMIT");
            committed_ = true;
        }

    private:
        database& db_;
        bool committed_ = false;
    };

    [[noreturn]] void fail() { throw std::runtime_error(sqlite3_errmsg(db_)); }

private:
    sqlite3* db_ = nullptr;
};

//[outbox
// Each call is one transaction and blocks until it ends. A server calls it on a thread that may block.
struct job {
    std::int64_t id = 0;
    std::string printer, label;
    std::int64_t attempts = 0;  // including this one; id and attempts identify the claim
};

class outbox {
public:
    explicit outbox(std::string const& path) : db_(path)
    {
        db_.run("CREATE TABLE IF NOT EXISTS jobs (id INTEGER PRIMARY KEY AUTOINCREMENT,"
                " printer TEXT NOT NULL, label TEXT NOT NULL,"
                " run_at REAL DEFAULT (julianday('now')), attempts INTEGER NOT NULL DEFAULT 0, why TEXT)");
        db_.run("CREATE TABLE IF NOT EXISTS printed (label TEXT NOT NULL)");
    }

    // Call it in the transaction that makes the job necessary. Then both the order and its label are stored, or
    // neither.
    void put(std::string const& printer, std::string const& label)
    {
        database::statement(db_, "INSERT INTO jobs (printer, label) VALUES (?, ?)", printer, label).step();
    }

    // Takes a job that is due. No other worker gets it for a minute; after that, this worker counts as dead.
    std::optional<job> take()
    {
        database::statement taken(db_, "UPDATE jobs"
                                       " SET run_at = julianday('now') + 60 / 86400.0, attempts = attempts + 1"
                                       " WHERE id = (SELECT id FROM jobs WHERE run_at <= julianday('now')"
                                       " ORDER BY run_at LIMIT 1)"
                                       " RETURNING id, printer, label, attempts");
        if (!taken.step())
            return {};
        job j{taken.number(0), taken.text(1), taken.text(2), taken.number(3)};
        taken.step();  // reaches the end of the statement, which commits it
        return j;
    }

    // Returns false if another worker has taken the job since.
    bool postpone(job const& j, std::chrono::milliseconds later)
    {
        return db_.changes_a_row("UPDATE jobs SET run_at = julianday('now') + ? / 86400000.0"
                                 " WHERE id = ? AND attempts = ?",
                                 later.count(), j.id, j.attempts);
    }

    // The job is never due again. It stays in the table with the reason, so that operators can look at it.
    bool set_aside(job const& j, std::string const& why)
    {
        return db_.changes_a_row("UPDATE jobs SET run_at = NULL, why = ? WHERE id = ? AND attempts = ?", why, j.id,
                                 j.attempts);
    }

    // Writes the result and deletes the job in one transaction.
    // Returns false, and does neither, if another worker has taken the job since.
    bool done(job const& j)
    {
        database::transaction t(db_);
        if (!db_.changes_a_row("DELETE FROM jobs WHERE id = ? AND attempts = ?", j.id, j.attempts))
            return false;
        database::statement(db_, "INSERT INTO printed (label) VALUES (?)", j.label).step();
        t.commit();
        return true;
    }

private:
    database db_;
};
//]

asio::awaitable<void> print(std::string const&)
{
    asio::steady_timer printer(co_await asio::this_coro::executor, 1ms);
    co_await printer.async_wait(asio::deferred);
}

//[worker
constexpr std::int64_t attempts_max = 20;

asio::awaitable<bool> try_it(redlock::lock_manager& locks, outbox& jobs, job j)
{
    if (j.attempts > attempts_max) {  // before the work: perhaps the job crashes its workers
        jobs.set_aside(j, "the last attempt did not end");
        co_return false;
    }
    redlock::attempt_report report;  // empty if the work fails under the lock
    auto work = [&](redlock::lock&) -> asio::awaitable<void> {
        co_await print(j.label);
        if (!jobs.done(j))
            throw std::runtime_error("the work took too long: another worker has taken the job");
    };
    std::string why;
    try {
        // The worker does not wait for the lock, because other jobs are due. It must finish before the minute is over.
        redlock::acquire_options const how{.ttl = 5s, .max_hold = 40s};
        co_await locks.with_lock("printer:" + j.printer, how, work);
        co_return true;
    } catch (redlock::lock_error const& e) {  // for example: the lock is held, or too few nodes answer
        report = e.report();
        why = e.what();
    } catch (std::exception const& e) {
        why = e.what();
    }
    auto const later = redlock::retry_after(report, static_cast<std::size_t>(j.attempts));
    if (later > 0ms && j.attempts < attempts_max)
        jobs.postpone(j, later);
    else
        jobs.set_aside(j, why);  // the job would never succeed
    std::cerr << "job " << j.id << ": " << why << '\n';
    co_return false;
}
//]

std::int64_t count_of(std::string const& path, char const* sql)
{
    database db(path);
    database::statement count(db, sql);
    count.step();
    return count.number(0);
}

// A worker that was too slow can neither finish the job nor put it back.
bool a_late_worker_is_refused(std::string const& path)
{
    outbox one(path), other(path);
    one.put("1", "late");
    auto const before = one.take();
    bool const hidden = before && !other.take();
    database(path).run("UPDATE jobs SET run_at = 0");  // the minute is over
    auto const now = other.take();
    bool const refused = now && !one.done(*before) && !one.postpone(*before, 1s) && !one.set_aside(*before, "late");
    return hidden && refused && count_of(path, "SELECT count(*) FROM printed") == 0 && other.done(*now);
}

struct day {
    redlock::lock somebody_else;  // holds a printer until a job has failed because of it
    int failed = 0;
};

// Works until no job is left.
asio::awaitable<void> work(redlock::lock_manager& locks, std::string path, day& today)
{
    outbox jobs(path);
    asio::steady_timer pause(co_await asio::this_coro::executor);
    while (count_of(path, "SELECT count(*) FROM jobs WHERE run_at IS NOT NULL") > 0) {
        if (auto const j = jobs.take()) {
            bool const done = co_await try_it(locks, jobs, *j);
            if (!done && j->label != "deadly" && ++today.failed == 1)
                today.somebody_else = {};
            continue;
        }
        pause.expires_after(20ms);
        co_await pause.async_wait(asio::deferred);
    }
}

int main()
{
    auto const folder = std::filesystem::temp_directory_path() / ("redlock-outbox-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    auto const path = (folder / "jobs.db").string();
    bool well = a_late_worker_is_refused(path);
    for (int i = 0; i < 12; ++i)
        outbox(path).put(std::to_string(i % 4), "label " + std::to_string(i));
    outbox(path).put("1", "deadly");
    database(path).run("UPDATE jobs SET attempts = 20 WHERE label = 'deadly'");  // each worker has crashed

    asio::io_context context;
    redlock::manager_options const settings{.nodes = {"memory://a", "memory://b", "memory://c"}};
    redlock::lock_manager locks(context, settings), others(context, settings);
    day today;
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            redlock::acquire_options const how{.ttl = 10s, .renew = redlock::renewal::automatic};
            today.somebody_else = co_await others.async_try_acquire("printer:3", how);
            using namespace asio::experimental::awaitable_operators;
            co_await (work(locks, path, today) && work(locks, path, today));
            co_await locks.async_shutdown();
            co_await others.async_shutdown();
        },
        [](std::exception_ptr failure) {
            if (failure)
                std::rethrow_exception(failure);
        });
    context.run();

    auto const printed = count_of(path, "SELECT count(DISTINCT label) FROM printed");
    auto const in_all = count_of(path, "SELECT count(*) FROM printed");
    std::cout << printed << " labels printed, " << today.failed << " attempts in vain\n";
    well = well && count_of(path, "SELECT count(*) FROM jobs WHERE label = 'deadly' AND why IS NOT NULL") == 1;
    std::filesystem::remove_all(folder);
    return well && printed == 1 + 12 && in_all == printed && today.failed > 0 ? 0 : 1;
}
