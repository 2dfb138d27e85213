#pragma once

#include "stores/redis/scripts.hpp"
#include "bed/local_server.hpp"

#include <redlock.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

using namespace std::chrono_literals;
using testbed::local_server;

/// A node_timeout for busy machines. A test that waits for a timeout sets a shorter one itself.
constexpr std::chrono::milliseconds busy_timeout = 3s;

/// Whether the servers under test draw fencing tokens, which needs Redis 6.2.
inline bool servers_fence()
{
    static bool const they_do = local_server().ask({"ZADD", "counter", "GT", "CH", "1", "token"}) == "1";
    return they_do;
}

/// Skips a test case or a suite if the servers have no fencing tokens: `*only_with_fencing()`.
inline auto only_with_fencing()
{
    return boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
        boost::test_tools::assertion_result they_do(servers_fence());
        they_do.message() << "fencing needs Redis 6.2";
        return they_do;
    });
}

/// Whether SET with NX of the servers under test fails for a key of another type, which needs Redis 7.
inline bool servers_tell_type()
{
    static bool const they_do = local_server().ask({"SET", "probe", "x", "NX", "GET"}) == "(nil)";
    return they_do;
}

/// The number of calls of a command, such as "config|get"; before Redis 7, of all subcommands of "config".
inline long carried_out(local_server const& s, std::string const& command)
{
    auto const statistics = s.ask({"INFO", "commandstats"});
    for (auto const& name : {command, command.substr(0, command.find('|'))}) {
        auto const label = "cmdstat_" + name + ":calls=";
        if (auto const at = statistics.find(label); at != std::string::npos)
            return std::stol(statistics.substr(at + label.size()));
    }
    return 0;
}

/// Founds a new server: it votes at once, also if other servers of its set are away.
inline void found(local_server const& s)
{
    auto const word = std::to_string(s.port());
    for (auto const& verdict : {std::string(), 'F' + word})
        s.ask({"EVAL", std::string(stores::redis::record_script.source), "2", "lock::=record", "lock::=clients",
               std::string(stores::redis::record_kept), word, "", "60000", verdict, ""});
}

/// Real servers, and an event loop that runs until a condition holds. The servers are founded.
class real_servers {
public:
    explicit real_servers(std::size_t count, std::vector<std::string> options = {})
    {
        for (std::size_t i = 0; i < count; ++i) {
            servers.push_back(std::make_unique<local_server>(options));
            found(*servers.back());
        }
    }

    local_server& operator[](std::size_t i) { return *servers[i]; }

    /// Settings of a manager of all servers. Unless @p special sets one, node_timeout is long enough for busy machines.
    manager_options settings(manager_options special = {}) const
    {
        for (auto& s : servers)
            special.nodes.push_back(s->url());
        if (special.node_timeout == manager_options().node_timeout)
            special.node_timeout = busy_timeout;
        return special;
    }

    /// Runs the loop until @p done. @return false after @p longest
    template <class Condition>
    bool run_to(Condition done, std::chrono::milliseconds longest = 20s)
    {
        auto const end = std::chrono::steady_clock::now() + longest;
        context.restart();
        while (!done()) {
            if (std::chrono::steady_clock::now() > end)
                return false;
            context.run_one_for(5ms);
            if (context.stopped())
                context.restart();
        }
        return true;
    }

    struct outcome {
        error_code ec;
        lock held;
        attempt_report report;
        std::chrono::steady_clock::duration took{};
        bool done = false;
    };

    outcome acquire(lock_manager& locks, std::string resource, acquire_options options = {})
    {
        outcome o;
        options.explain = true;
        auto const begin = std::chrono::steady_clock::now();
        auto [ec, held] =
            wait_for<lock>([&](auto done) { locks.async_acquire(std::move(resource), options, std::move(done)); });
        o.ec = ec;
        o.report = *held.report();
        o.held = std::move(held);
        o.took = std::chrono::steady_clock::now() - begin;
        return o;
    }

    /// Starts an acquisition without waiting for the outcome. @p o must live until then.
    void start_acquire(outcome& o, lock_manager& locks, std::string resource, acquire_options options)
    {
        locks.async_acquire(std::move(resource), options, [&o](error_code ec, lock held) {
            o.done = true;
            o.ec = ec;
            if (auto const r = held.report())
                o.report = *r;
            o.held = std::move(held);
        });
    }

    error_code release(lock& l)
    {
        if (l.resource().empty())  // an empty lock has no event loop, so its handler would run on another thread
            return errc::not_held;
        return wait([&](auto done) { l.async_release(std::move(done)); });
    }

    error_code release(lock&& l) { return release(l); }

    error_code extend(lock& l, std::chrono::milliseconds ttl)
    {
        return wait([&](auto done) { l.async_extend(ttl, std::move(done)); });
    }

    error_code upgrade(lock& l)
    {
        return wait([&](auto done) { l.async_upgrade(std::move(done)); });
    }

    error_code downgrade(lock& l)
    {
        return wait([&](auto done) { l.async_downgrade(std::move(done)); });
    }

    /// Keys that are left are an error.
    error_code shutdown(lock_manager& m)
    {
        return wait([&](auto done) { m.async_shutdown({.keys_left_is_error = true}, std::move(done)); });
    }

    template <class Start>
    error_code wait(Start start)
    {
        std::optional<error_code> result;
        start([&](error_code ec) { result = ec; });
        if (!run_to([&] { return result.has_value(); }, 30s))
            throw std::runtime_error("an operation hangs");
        return *result;
    }

    template <class T, class Start>
    std::pair<error_code, T> wait_for(Start start)
    {
        std::optional<std::pair<error_code, T>> result;
        start([&](error_code ec, T value) { result.emplace(ec, std::move(value)); });
        if (!run_to([&] { return result.has_value(); }, 30s))
            throw std::runtime_error("an operation hangs");
        return std::move(*result);
    }

    /// Connects @p locks to all servers. Otherwise a slow server may miss a lock that the others have granted.
    void connect(lock_manager& locks)
    {
        release(acquire(locks, "warm-up").held);
        auto const all_connected = [&] {
            auto const nodes = locks.stats().nodes;
            return std::all_of(nodes.begin(), nodes.end(), [](auto& n) { return n.connected; });
        };
        if (!run_to([&] { return all_connected() && locks.stats().cleaning == 0; }, 30s))
            throw std::runtime_error("a server cannot be connected to");
    }

    /// Acquires with a new manager, releases, and shuts the manager down.
    outcome attempt(manager_options settings, acquire_options options = {})
    {
        lock_manager locks(context, std::move(settings));
        auto o = acquire(locks, "stock", options);
        release(o.held);
        shutdown(locks);
        return o;
    }

    void ask_all(std::vector<std::string> const& command) const
    {
        for (auto& s : servers)
            s->ask(command);
    }

    /// The number of running servers that have @p key.
    std::size_t keys(std::string const& key) const
    {
        std::size_t n = 0;
        for (auto& s : servers)
            n += s->pid() > 0 && s->ask({"EXISTS", key}) == "1";
        return n;
    }

    std::vector<std::unique_ptr<local_server>> servers;
    asio::io_context context;
};

/// A manager whose destructor shuts it down, and waits for the end of the shutdown.
class ending_manager : public lock_manager {
public:
    ending_manager(real_servers& r, manager_options c) : lock_manager(r.context, std::move(c)), servers_(r) {}
    ~ending_manager() { servers_.shutdown(*this); }

private:
    real_servers& servers_;
};

/// A fixture: servers, and a manager. The manager of `connected_to` is connected to all of them.
template <std::size_t Servers>
struct manager_of {
    real_servers r{Servers};
    lock_manager locks{r.context, r.settings()};

    void teardown() { r.shutdown(locks); }
};

template <std::size_t Servers>
struct connected_to : manager_of<Servers> {
    connected_to() { this->r.connect(this->locks); }
};

}  // namespace redlock::test
