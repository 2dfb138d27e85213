// Locks in a database, and in ZooKeeper.

#include "sim/gallery/catalogue.hpp"
#include "sim/gallery/scripts.hpp"

namespace redlock::sim::gallery {

namespace {

class row_by_clients_clock final : public polling {
public:
    using polling::polling;

    task<bool> try_lock() override
    {
        owner_ = computer_.unique();
        auto const now = computer_.time_of_day();
        co_return co_await computer_.ask(0, take_row_by_clients_clock, key, owner_, now.count(), (now + ttl).count()) == "INSERT 0 1";
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

/// An ephemeral node: it is there while its session is, which the client keeps alive in the background.
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

}  // namespace

std::vector<exhibit> other_stores()
{
    return {
        {.name = "a row, clients' clocks", .make_server = sql_database, .make = make<row_by_clients_clock>},
        {.name = "a row, the database's clock", .make_server = sql_database, .make = make<row_by_servers_clock>},
        {.name = "a ZooKeeper session", .make_server = zookeeper, .make = make<ephemeral_node>},
    };
}

}  // namespace redlock::sim::gallery
