#include "sim/gallery/stores.hpp"

#include "sim/gallery/scripts.hpp"
#include "sim/world.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace redlock::sim::gallery {

namespace {

using entry = stores::memory::lock_table::entry;
using std::chrono::milliseconds;

constexpr clock::time_point never = clock::time_point::max();

std::int64_t integer(std::string_view digits) { return std::strtoll(std::string(digits).c_str(), nullptr, 10); }

// Redis

std::string set(server& s, command const& c)
{
    auto const now = s.clock_now();
    auto const has = [&](std::string_view option) { return std::find(c.begin() + 3, c.end(), option) != c.end(); };
    if (has("NX") && s.keys.find(c[1], now))
        return "(nil)";
    auto const time = integer(c.back());
    s.keys.entries[c[1]] = {c[2], now + (has("PX") ? milliseconds(time) : std::chrono::seconds(time))};
    return "OK";
}

std::string evaluate(server& s, command const& c)
{
    auto const& key = c[3];
    auto const* const e = s.keys.find(key, s.clock_now());
    if (c[1] == delete_if_equal)
        return e && e->value == c[4] ? fmt::to_string(s.keys.entries.erase(key)) : "0";
    if (c[1] == delete_if_over && !e)
        return "";  // an error: it compares nothing with a number
    if (c[1] == delete_if_over)
        return integer(e->value) < integer(c[4]) ? fmt::to_string(s.keys.entries.erase(key)) : "0";
    if (c[1] == set_or_take_over && e && integer(e->value) >= integer(c[6]))
        return "0";
    if (c[1] == set_or_take_over) {
        s.keys.entries[key] = {c[4], e ? never : s.clock_now() + std::chrono::seconds(integer(c[5]))};
        return "1";
    }
    if (e && integer(e->value) >= integer(c[4]))  // take_if_over
        return "0";
    s.keys.entries[key] = {c[5], never};
    return "1";
}

std::string redis(server& s, command const& c)
{
    auto* const e = s.keys.find(c[1], s.clock_now());
    if (c[0] == "SET")
        return set(s, c);
    if (c[0] == "SETNX") {
        if (!e)
            s.keys.entries[c[1]] = {c[2], never};
        return e ? "0" : "1";
    }
    if (c[0] == "GET")
        return e ? e->value : "(nil)";
    if (c[0] == "GETSET") {
        auto const before = e ? e->value : "(nil)";
        s.keys.entries[c[1]] = {c[2], never};
        return before;
    }
    if (c[0] == "EXPIRE" && e)
        e->expires = s.clock_now() + std::chrono::seconds(integer(c[2]));
    if (c[0] == "EXPIRE")
        return e ? "1" : "0";
    if (c[0] == "DEL")
        return e ? fmt::to_string(s.keys.entries.erase(c[1])) : "0";
    return evaluate(s, c);
}

// A table. The value of a key is its owner, and the time when it ends.

std::string take_row(server& s, command const& c, std::int64_t now, std::int64_t over)
{
    auto const row = s.keys.entries.find(c[1]);
    if (row != s.keys.entries.end() && integer(row->second.value.substr(row->second.value.find(' ') + 1)) >= now)
        return "INSERT 0 0";
    s.keys.entries[c[1]] = {fmt::format("{} {}", c[2], over), never};
    return "INSERT 0 1";
}

std::string sql(server& s, command const& c)
{
    if (c[0] == take_row_by_clients_clock)
        return take_row(s, c, integer(c[3]), integer(c[4]));
    auto const now = s.clock_now().time_since_epoch() / 1ms;
    if (c[0] == take_row_by_servers_clock)
        return take_row(s, c, now, now + integer(c[3]));
    if (c[0] == insert_row)
        return s.keys.entries.try_emplace(c[1], entry{c[2] + " ", never}).second ? "INSERT 0 1" : "duplicate key";
    auto const row = s.keys.entries.find(c[1]);  // delete_row
    bool const is_owner = row != s.keys.entries.end() && row->second.value.starts_with(c[2] + " ");
    return is_owner ? fmt::format("DELETE {}", s.keys.entries.erase(c[1])) : "DELETE 0";
}

// Ephemeral nodes. The value of a key is its session, and the key lasts as long as the session.

std::string ephemeral(server& s, command const& c)
{
    auto const now = s.clock_now();
    auto* const e = s.keys.find(c[1], now);
    bool const mine = e && e->value == c[2];
    if (c[0] == "create") {
        if (e)
            return "node exists";
        s.keys.entries[c[1]] = {c[2], now + milliseconds(integer(c[3]))};
        return "OK";
    }
    if (!mine)
        return "session expired";
    if (c[0] == "delete")
        s.keys.entries.erase(c[1]);
    else  // ping
        e->expires = now + milliseconds(integer(c[3]));
    return "OK";
}

std::string printed(command const& c)
{
    auto words = c;
    for (auto& w : words) {
        if (w == delete_if_equal)
            w = "(delete if equal)";
        else if (w == take_if_over)
            w = "(take if over)";
        else if (w == set_or_take_over)
            w = "(SETNX and EXPIRE, or GETSET if over)";
        else if (w == delete_if_over)
            w = "(delete if over)";
        else if (w == insert_row)
            w = "INSERT INTO locks";
        else if (w == take_row_by_clients_clock || w == take_row_by_servers_clock)
            w = "INSERT … ON CONFLICT DO UPDATE … WHERE over <";
        else if (w == delete_row)
            w = "DELETE FROM locks";
    }
    return fmt::format("{}", fmt::join(words, " "));
}

// Servers

class late_redis final : public server {
public:
    using server::server;

    void crash(bool forget) override
    {
        forgot_ = forgot_ || (alive() && forget);
        server::crash(forget);
    }

    void start() override
    {
        if (!forgot_)
            return server::start();
        if (std::exchange(waits_, true))
            return;
        world().after(max_ttl, [this] {
            forgot_ = waits_ = false;
            server::start();
        });
    }

private:
    bool forgot_ = false, waits_ = false;
};

class replicated_redis final : public server {
public:
    replicated_redis(sim::world& w, std::size_t index, double rate) : server(w, index, rate) { replicate(); }

    void crash(bool) override
    {
        if (!alive())
            return;
        server::crash(false);
        keys.entries = replica_;
        world().tell("{}: its replica is promoted", name);
    }

private:
    // Confirmed writes reach the replica a little later.
    void replicate()
    {
        world().after(world().random.spread(1ms, 200ms), [this] {
            if (alive())
                replica_ = keys.entries;
            replicate();
        });
    }

    decltype(stores::memory::lock_table::entries) replica_;
};

class durable_server : public server {
public:
    using server::server;

    void crash(bool) override { server::crash(false); }
};

class ensemble final : public durable_server {
public:
    using durable_server::durable_server;

    void start() override
    {
        for (auto& [key, e] : keys.entries) {
            if (!alive() && e.expires != never)
                e.expires = std::max(e.expires, clock_now() + max_ttl / 5);
        }
        durable_server::start();
    }

    void jump(clock::duration) override {}
};

}  // namespace

std::string carry_out(server& s, std::string const& who, command const& c)
{
    if (s.refuses())
        return "";
    bool const is_sql = c[0] == take_row_by_clients_clock || c[0] == take_row_by_servers_clock || c[0] == insert_row
                        || c[0] == delete_row;
    bool const is_ephemeral = c[0] == "create" || c[0] == "ping" || c[0] == "delete";
    auto answer = is_sql ? sql(s, c) : is_ephemeral ? ephemeral(s, c) : redis(s, c);
    s.world().tell("{} carries out for {}: {} → {}", s.name, who, printed(c), answer);
    return answer;
}

std::unique_ptr<server> plain_redis(world& w, std::size_t index, double rate)
{
    return std::make_unique<server>(w, index, rate);
}
std::unique_ptr<server> redis_back_late(world& w, std::size_t index, double rate)
{
    return std::make_unique<late_redis>(w, index, rate);
}
std::unique_ptr<server> redis_with_replica(world& w, std::size_t index, double rate)
{
    return std::make_unique<replicated_redis>(w, index, rate);
}
std::unique_ptr<server> sql_database(world& w, std::size_t index, double rate)
{
    return std::make_unique<durable_server>(w, index, rate);
}
std::unique_ptr<server> zookeeper(world& w, std::size_t index, double rate)
{
    return std::make_unique<ensemble>(w, index, rate);
}

}  // namespace redlock::sim::gallery
