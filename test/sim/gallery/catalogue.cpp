// All algorithms, the simplest first.

#include "sim/gallery/catalogue.hpp"
#include "sim/gallery/from_articles.hpp"
#include "sim/gallery/redlock_variants.hpp"
#include "sim/gallery/scripts.hpp"
#include "sim/process.hpp"

#include <redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace redlock::sim::gallery {

namespace {

template <class Algorithm>
std::unique_ptr<algorithm> make(computer& c)
{
    return std::make_unique<Algorithm>(c);
}

// Algorithms for one Redis server, the oldest first.

class setnx_then_expire final : public polling {
public:
    using polling::polling;

    task<bool> try_lock() override
    {
        auto const set = co_await computer_.ask(0, "SETNX", key, "locked");
        if (set == "1")
            co_await computer_.ask(0, "EXPIRE", key, ttl / 1s);
        co_return set == "1";
    }

    task<void> unlock() override { co_await computer_.ask(0, "DEL", key); }
};

class set_nx_then_del final : public polling {
public:
    using polling::polling;

    task<bool> try_lock() override
    {
        co_return co_await computer_.ask(0, "SET", key, "locked", "NX", "EX", ttl / 1s) == "OK";
    }

    task<void> unlock() override { co_await computer_.ask(0, "DEL", key); }
};

/// The value is the time when the lock ends, by the clock of the client that set it.
class setnx_and_getset final : public polling {
public:
    using polling::polling;

    task<bool> try_lock() override
    {
        over_ = computer_.time_of_day() + ttl;
        auto const set = co_await computer_.ask(0, "SETNX", key, over_.count());
        if (set == "1")
            co_return true;
        auto const before = co_await computer_.ask(0, "GET", key);
        if (!is_over(before))
            co_return false;
        over_ = computer_.time_of_day() + ttl;
        co_return co_await computer_.ask(0, "GETSET", key, over_.count()) == before;
    }

    task<void> unlock() override
    {
        if (computer_.time_of_day() < over_)  // otherwise another client may hold it
            co_await computer_.ask(0, "DEL", key);
    }

private:
    bool is_over(std::string const& value)
    {
        return !value.empty() && value != "(nil)"
               && std::chrono::milliseconds(std::stoll(value)) < computer_.time_of_day();
    }

    std::chrono::milliseconds over_{};
};

/// Like @ref setnx_and_getset, in one step.
class timestamp_script final : public polling {
public:
    using polling::polling;

    task<bool> try_lock() override
    {
        auto const now = computer_.time_of_day();
        over_ = now + ttl;
        co_return co_await computer_.ask(0, "EVAL", take_if_over, 1, key, now.count(), over_.count()) == "1";
    }

    task<void> unlock() override
    {
        if (computer_.time_of_day() < over_)
            co_await computer_.ask(0, "DEL", key);
    }

private:
    std::chrono::milliseconds over_{};
};

class set_nx_with_token final : public polling {
public:
    using polling::polling;

    task<bool> try_lock() override
    {
        token_ = computer_.unique();
        co_return co_await computer_.ask(0, "SET", key, token_, "NX", "PX", ttl / 1ms) == "OK";
    }

    task<void> unlock() override { co_await computer_.ask(0, "EVAL", delete_if_equal, 1, key, token_); }

private:
    std::string token_;
};

// Algorithms for a database, and for ZooKeeper.

class row_by_clients_clock final : public polling {
public:
    using polling::polling;

    task<bool> try_lock() override
    {
        owner_ = computer_.unique();
        auto const now = computer_.time_of_day();
        co_return co_await computer_.ask(0, take_row_by_clients_clock, key, owner_, now.count(), (now + ttl).count())
            == "INSERT 0 1";
    }

    task<void> unlock() override { co_await computer_.ask(0, delete_row, key, owner_); }

private:
    std::string owner_;
};

class row_by_servers_clock final : public polling {
public:
    using polling::polling;

    task<bool> try_lock() override
    {
        owner_ = computer_.unique();
        co_return co_await computer_.ask(0, take_row_by_servers_clock, key, owner_, ttl.count()) == "INSERT 0 1";
    }

    task<void> unlock() override { co_await computer_.ask(0, delete_row, key, owner_); }

private:
    std::string owner_;
};

/// An ephemeral node: it exists while its session does. The client keeps the session alive in the background.
class ephemeral_node final : public polling {
public:
    using polling::polling;

    task<bool> try_lock() override
    {
        auto const session = computer_.unique();
        auto const answer = co_await computer_.ask_within(ttl, 0, "create", key, session, ttl.count());
        if (answer != "OK")
            co_return false;
        session_ = session;
        computer_.start([this, session]() -> task<void> {
            while (session_ == session) {
                co_await computer_.sleep(ttl / 3);
                if (session_ == session)
                    co_await computer_.ask_within(ttl / 3, 0, "ping", key, session, ttl.count());
            }
        });
        co_return true;
    }

    task<void> unlock() override
    {
        auto const session = std::exchange(session_, {});
        co_await computer_.ask_within(ttl, 0, "delete", key, session);
    }

private:
    std::string session_;
};

// The library.

class this_library final : public algorithm {
public:
    using algorithm::algorithm;

    task<bool> lock() override
    {
        acquire_options const options{.ttl = ttl, .wait = wait};
        auto [ec, won] =
            co_await computer_.runs_on().locks().async_acquire(key, options, asio::as_tuple(asio::use_awaitable));
        held_ = std::move(won);
        co_return !ec;
    }

    task<void> unlock() override { co_await held_.async_release(asio::as_tuple(asio::use_awaitable)); }

    std::optional<bool> held() override { return held_.held(); }
    std::uint64_t fencing_token() const override { return held_.fencing_token(); }

private:
    redlock::lock held_;
};

std::unique_ptr<algorithm> with_manager(computer& c)
{
    if (!c.runs_on().has_manager())
        c.runs_on().begin_manager();
    return std::make_unique<this_library>(c);
}

}  // namespace

std::vector<exhibit> catalogue(std::string_view words)
{
    constexpr std::string_view deletes_anothers = "for A: SET … for another: DEL stock → 1 … for B: SET";
    exhibit const all[] = {
        {.name = "SETNX, then EXPIRE", .make = make<setnx_then_expire>},
        {.name = "SET NX EX, released by DEL", .make = make<set_nx_then_del>},
        {.name = "SETNX with a timestamp, GETSET", .make = make<setnx_and_getset>},
        {.name = "the same as one script", .make = make<timestamp_script>},
        {.name = "ThinkPHP: a script with GETSET",
         .flaw = "leaves the key",
         .shows = symptom::unused,
         .make = make<thinkphp_lock>},
        {.name = "released by GET, then DEL", .flaw = deletes_anothers, .make = make<released_by_get_then_del>},
        {.name = "release compared with itself",
         .flaw = deletes_anothers,
         .flaw_alone = true,
         .make = make<compared_with_itself>},
        {.name = "SET NX PX, compare and delete", .make = make<set_nx_with_token>},
        {.name = "the same, replica promoted",
         .flaw = "its replica is promoted",
         .make_server = redis_with_replica,
         .make = make<set_nx_with_token>},
        {.name = "a row without an end",
         .flaw = "A's process ends",
         .make_server = sql_database,
         .make = make<row_without_end>},
        {.name = "a row, clients' clocks",
         .flaw = "clocks, seed",
         .make_server = sql_database,
         .make = make<row_by_clients_clock>},
        {.name = "a row, the database's clock", .make_server = sql_database, .make = make<row_by_servers_clock>},
        {.name = "a ZooKeeper session", .make_server = zookeeper, .make = make<ephemeral_node>},
        {.name = "Redlock without timeouts",
         .servers = 3,
         .make_server = redis_back_late,
         .make = make<redlock_without_timeout>},
        {.name = "Redlock, valid from last reply",
         .servers = 3,
         .make_server = redis_back_late,
         .make = make<redlock_from_last_reply>},
        {.name = "Redlock, first delay added back",
         .servers = 3,
         .flaw = "A adds back",
         .flaw_alone = true,
         .make_server = redis_back_late,
         .make = make<redlock_from_first_success>},
        {.name = "Redlock, quorum min(n, n/2 + 1)",
         .servers = 3,
         .flaw = "has 2 of 3, and needs 2.5",
         .shows = symptom::unused_with_one_stopped,
         .make_server = redis_back_late,
         .make = make<redlock_with_rounded_quorum>},
        {.name = "Redlock, restarts not delayed",
         .servers = 3,
         .flaw = "crashes and forgets",
         .make = make<redlock_as_published>},
        {.name = "Redlock as published",
         .servers = 3,
         .make_server = redis_back_late,
         .make = make<redlock_as_published>},
        {.name = "ours on one server", .excludes = promise::unless_paused, .make = with_manager},
        {.name = "ours", .servers = 3, .excludes = promise::unless_paused, .make = with_manager},
        {.name = "ours with fencing", .servers = 3, .fencing = true, .excludes = promise::always, .make = with_manager},
    };
    std::vector<exhibit> wanted;
    std::ranges::copy_if(all, std::back_inserter(wanted),
                         [&](auto const& e) { return e.name.find(words) != e.name.npos; });
    return wanted;
}

}  // namespace redlock::sim::gallery
