#include "tools/serve/connection_shares.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace redlock::serve {

namespace {

using namespace std::chrono_literals;

constexpr auto undisturbed_time = 1s;      // for TLS and the header of a request, and between two requests
constexpr std::size_t part_of_nobody = 8;  // one in eight connections may belong to no client

}  // namespace

void connection_shares::add(std::size_t number, std::shared_ptr<client_connection> c, std::string peer)
{
    auto& added = all_[number];
    added.connection = std::move(c);
    added.peer = std::move(peer);
    count(added, std::nullopt);
    if (count_of(std::nullopt) > share_of_nobody())
        close_one([](entry const& e) { return !e.client; });
}

std::string connection_shares::peer(std::size_t number) const
{
    auto const known = all_.find(number);
    return known == all_.end() ? "an unknown address" : known->second.peer;
}

void connection_shares::remove(std::size_t number)
{
    if (auto const known = all_.find(number); known != all_.end()) {
        discount(known->second);
        all_.erase(known);
    }
}

void connection_shares::drop(std::size_t number)
{
    if (auto const known = all_.find(number); known != all_.end())
        known->second.connection->drop();
}

// Many connections that belong to no client must not cost a client its idle ones, over which it may renew locks.
void connection_shares::make_room()
{
    bool const are_many = count_of(std::nullopt) >= share_of_nobody();
    close_one([=](entry const& e) { return !are_many || !e.client; });
}

// A connection that was told to end has gone on if its next request came at the same time.
bool connection_shares::assign(std::size_t number, std::string const& client)
{
    auto const known = all_.find(number);
    if (known == all_.end())
        return true;
    auto& e = known->second;
    if (e.client == client && !e.closed)
        return true;
    if (count_of(client) >= most_of_client_ && !close_one([&](entry const& other) { return other.client == client; }))
        return false;
    discount(e);
    count(e, client);
    e.connection->set_known();
    return true;
}

void connection_shares::expect_body(std::size_t number, client_loads& loads, std::string const& client,
                                    std::size_t bytes)
{
    if (auto const known = all_.find(number); known != all_.end())
        known->second.body.emplace(loads, client, client_loads::amount{.bytes = bytes});
}

void connection_shares::body_has_come(std::size_t number)
{
    if (auto const known = all_.find(number); known != all_.end())
        known->second.body.reset();
}

void connection_shares::count(entry& e, std::optional<std::string> client)
{
    ++counts_[client];
    e.client = std::move(client);
    e.closed.reset();
}

void connection_shares::discount(entry const& e)
{
    if (e.closed)
        return;
    if (auto const counted = counts_.find(e.client); --counted->second == 0)
        counts_.erase(counted);
}

std::size_t connection_shares::share_of_nobody() const { return std::max<std::size_t>(most_ / part_of_nobody, 1); }

std::size_t connection_shares::count_of(std::optional<std::string> const& client) const
{
    auto const counted = counts_.find(client);
    return counted == counts_.end() ? 0 : counted->second;
}

// A connection of no client that had an answer has had its time.
bool connection_shares::may_be_closed(entry const& e, clock::time_point now)
{
    auto const& c = *e.connection;
    if (c.is_under_way() || (e.closed && *e.closed + undisturbed_time > now))
        return false;
    return e.client ? c.idle_since() + undisturbed_time < now : c.has_answered() || e.opened + undisturbed_time < now;
}

// Connections of no client come first, the oldest before the others. Then comes the client with the most connections:
// it loses the one that has been idle for the longest time.
template <class Is>
bool connection_shares::close_one(Is is_candidate)
{
    auto const now = clock::now();
    auto const place_in_line = [&](entry const& e) {
        auto const others = std::numeric_limits<std::size_t>::max() - count_of(e.client);
        return std::tuple(e.client.has_value(), others, e.client ? e.connection->idle_since() : e.opened);
    };
    auto first = all_.end();
    for (auto e = all_.begin(); e != all_.end(); ++e) {
        if (!is_candidate(e->second) || !may_be_closed(e->second, now))
            continue;
        if (first == all_.end() || place_in_line(e->second) < place_in_line(first->second))
            first = e;
        if (!e->second.client)
            break;  // the oldest one
    }
    if (first == all_.end())
        return false;
    discount(first->second);
    first->second.closed = now;
    first->second.connection->drop_if_idle();
    return true;
}

}  // namespace redlock::serve
