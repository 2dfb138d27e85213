#include "stores/postgresql/session.hpp"

#include "stores/postgresql/schema.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <string>
#include <utility>

namespace redlock::pg {

namespace {

constexpr statement end_backend{"", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                                    "WHERE pid = $1 AND extract(epoch FROM backend_start)::text = $2"};
constexpr statement clean_up{"", "SELECT redlock_clean()"};

}  // namespace

session::session(asio::any_io_executor e, std::shared_ptr<address const> a, std::shared_ptr<hosts> of_several,
                 std::chrono::milliseconds connect_timeout, bool listens, owner& o)
    : connection(std::move(e), std::move(a), connect_timeout, o), hosts_(std::move(of_several)),
      listens_(listens && address_->options.notify)
{
}

session::session(asio::any_io_executor e, std::shared_ptr<address const> a, std::chrono::milliseconds connect_timeout,
                 hosts::teller tell, owner& o)
    : connection(std::move(e), std::move(a), connect_timeout, o), tell_(std::move(tell)), listens_(false)
{
}

void session::close()
{
    if (hosts_)
        hosts_->close();
    client_session::close();
}

void session::abandon()
{
    if (hosts_)
        hosts_->abandon();
    client_session::abandon();
}

// Connecting

void session::connect()
{
    auto const names = address_->list("host"), addresses = address_->list("hostaddr");
    set_limit(connect_timeout_ * static_cast<int>(2 + names.size()));
    std::vector<found> all;
    for (std::size_t i = 0; i < addresses.size(); ++i)
        all.push_back({i, i < names.size() ? names[i] : addresses[i], addresses[i]});
    addresses.empty() ? resolve(0, {}) : choose(all);
}

void session::resolve(std::size_t next, std::vector<found> all)
{
    auto const hosts = address_->list("host");
    if (next == hosts.size())
        return choose(all);
    auto const& host = hosts[next];
    if (host.starts_with('/')) {
        all.push_back({next, host, ""});
        return resolve(next + 1, std::move(all));
    }
    bool const is_last = next + 1 == hosts.size();
    look_up(host, [this, host, next, is_last, all = std::move(all)](auto const& addresses, auto const& why) mutable {
        for (auto const& a : addresses)
            all.push_back({next, host, a});
        if (all.empty() && is_last)
            return refuse(errc::node_unreachable, why);
        resolve(next + 1, std::move(all));
    });
}

void session::choose(std::vector<found> const& all)
{
    if (all.size() < 2 && address_->list("host").size() < 2)
        return connect_to(all.empty() ? *address_ : only(*address_, all.front()));
    hosts_->find(all, [this, weak = weak_from_this(), before = life()](found const* primary, auto const& why_none) {
        auto const self = weak.lock();
        if (self && before == life())
            primary ? connect_to(only(*address_, *primary)) : cut(why_none);
    });
}

// Questions

void session::carry_out(node_command const& c, bool tombstone, std::function<void(node_reply)> done)
{
    auto const [s, values] = put(c, tombstone);
    ask(*s, values, [this, &c, done = std::move(done)](PGresult const* r) {
        deliver(done, r ? interpret(c, *r) : node_reply{.error = errc::connection_lost});
    });
}

void session::end(sql::backend const& b, std::function<void(bool)> done)
{
    if (b.id == 0 || b.lent)
        return done(false);
    parameters which;
    which.add_text(std::to_string(b.id));
    which.add_bytes(b.since);
    ask(end_backend, which, [done = std::move(done)](PGresult const* r) { done(r && PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 0); });
}

void session::look(std::function<void(bool)> done)
{
    auto const text = fmt::format("SELECT {0}, redlock_remembers({1}) AND EXISTS (SELECT FROM redlock_timeline WHERE id = {1} AND extract(epoch FROM since)::text = '{2}'), pg_backend_pid()",
                                  is_durable, server().timeline, server().since);
    ask({"", text.c_str()}, {}, [this, done = std::move(done)](PGresult const* r) {
        auto const rows = r ? rows_of(*r) : sql::rows();
        if (rows.size() != 1)
            return;
        if (sql::cell(rows, 1) != "t")
            return refuse(errc::unsupported_server, "its tables were emptied, restored or made anew");
        if (server().backend.id != 0 && server().backend.id != sql::to_integer(sql::cell(rows, 2)))
            return cut(sql::shared_backend());
        done(sql::cell(rows, 0) == "t");
    });
}

void session::clean()
{
    ask(clean_up, {}, [](PGresult const*) {});
}

}  // namespace redlock::pg
