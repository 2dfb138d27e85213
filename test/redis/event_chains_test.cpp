// Chains of two events on real servers, each of which may lose keys. A client holds a lock during the chain. Nobody
// else gets the lock meanwhile. One of the others stays connected, one was away, and one starts afterwards. The model
// of test/record tries longer chains; with REDLOCK_LONG=1 this test tries all pairs.

#include "support/long_proof.hpp"
#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(event_chains)

namespace {

constexpr std::chrono::milliseconds max_ttl = 6s, look = 1100ms;

// A durable server that is killed and changed.
class changing_server {
public:
    changing_server()
    {
        configure();
        server.emplace(std::vector<std::string>{"--include", folder_.path + "/conf"});
    }

    void flush() { server->ask({"FLUSHALL"}); }
    void restart()
    {
        kill();
        server->start();
    }
    void lose_disk()
    {
        kill();
        server->forget();
        server->start();
    }
    void switch_log(bool on)
    {
        has_log_ = on;
        configure();
        server->ask({"CONFIG", "SET", "appendonly", on ? "yes" : "no"});
    }
    void become_replica_for_a_moment()
    {
        server->ask({"REPLICAOF", "127.0.0.1", std::to_string(empty_.port())});
        auto const end = std::chrono::steady_clock::now() + 10s;
        while (server->ask({"ROLE"}).find("connected") == std::string::npos && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(10ms);
        server->ask({"REPLICAOF", "NO", "ONE"});
    }

    void back_up() { std::filesystem::copy(server->folder(), backup(), std::filesystem::copy_options::recursive); }
    void restore_backup()
    {
        kill();
        server->forget();
        std::filesystem::create_directories(server->folder());
        std::filesystem::copy(backup(), server->folder(), std::filesystem::copy_options::recursive);
        server->start();
    }

    std::optional<local_server> server;

private:
    void configure() const
    {
        std::ofstream(folder_.path + "/conf") << "appendonly " << (has_log_ ? "yes" : "no") << "\nappendfsync always\n"
                                              << "repl-diskless-sync-delay 0\n";
    }
    void kill()
    {
        ::kill(-server->pid(), SIGKILL);  // and its child processes
        server->kill();
    }
    std::string backup() const { return folder_.path + "/backup"; }

    testbed::temporary_folder folder_;
    bool has_log_ = true;
    local_server empty_;  ///< another server, without keys
};

struct event {
    char const* name;
    std::function<void(changing_server&)> happen;
};

std::array const events{
    event{"FLUSHALL", [](auto& s) { s.flush(); }},
    event{"restart", [](auto& s) { s.restart(); }},
    event{"empty disk", [](auto& s) { s.lose_disk(); }},
    event{"log off", [](auto& s) { s.switch_log(false); }},
    event{"log on", [](auto& s) { s.switch_log(true); }},
    event{"replica and back", [](auto& s) { s.become_replica_for_a_moment(); }},
    event{"older copy", [](auto& s) { s.restore_backup(); }},
};

using pair_of_events = std::pair<std::size_t, std::size_t>;

/// A client with an event loop of its own, so that it can be away.
struct client {
    client(std::string const& url, restart_guard guard)
        : locks(context, {.nodes = {url}, .node_timeout = busy_timeout, .max_ttl = max_ttl, .restart_guard = guard})
    {
    }
    ~client()
    {
        locks.async_shutdown([](error_code) {});
        run_for(100ms);
    }

    void run_for(std::chrono::milliseconds d)
    {
        context.restart();
        context.run_for(d);
    }

    template <class Condition>
    void run_to(Condition done)
    {
        auto const end = std::chrono::steady_clock::now() + 60s;
        while (!done() && std::chrono::steady_clock::now() < end)
            run_for(5ms);
    }

    asio::io_context context;
    asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
    lock_manager locks;
};

/// @return what went wrong; empty: nothing
std::string try_chain(pair_of_events which, restart_guard guard = restart_guard::strict)
{
    changing_server s;
    client holder(s.server->url(), guard), stays(s.server->url(), guard), away(s.server->url(), guard);
    bool founded = guard == restart_guard::off;
    if (!founded)
        holder.locks.async_found([&](error_code ec, attempt_report const&) { founded = !ec; });
    holder.run_to([&] { return founded; });
    for (auto* c : {&stays, &away}) {
        bool connected = false;
        c->locks.async_acquire("warm-up", {.ttl = max_ttl, .wait = 30s}, [&](error_code ec, lock) { connected = !ec; });
        c->run_to([&] { return connected; });
        if (!connected)
            return "a client does not get a lock before the chain";
    }
    s.back_up();
    for (auto const end = std::chrono::steady_clock::now() + max_ttl + 1s; std::chrono::steady_clock::now() < end;) {
        for (auto* c : {&holder, &stays, &away})
            c->run_for(5ms);
    }
    lock held;
    holder.locks.async_acquire("stock", {.ttl = max_ttl, .wait = 30s},
                               [&](error_code, lock l) { held = std::move(l); });
    holder.run_to([&] { return held.held(); });
    if (!held.held())
        return "the lock is not acquired";

    for (auto const i : {which.first, which.second}) {
        events[i].happen(s);
        stays.run_for(look);
    }

    client late(s.server->url(), guard);
    std::string who;
    for (auto const& [name, c] : {std::pair("late", &late), {"away", &away}, {"staying", &stays}})
        c->locks.async_acquire("stock", {.ttl = max_ttl, .wait = 1min}, [&, name](error_code ec, lock) {
            if (!ec && held.held())
                who = name;
        });
    while (held.held() && who.empty()) {
        for (auto* c : {&late, &away, &stays})
            c->run_for(1ms);
    }
    for (auto* c : {&late, &away, &stays})  // they wait no longer
        c->locks.async_shutdown([](error_code) {});
    return who.empty() ? who : who + " client";
}

}  // namespace

BOOST_AUTO_TEST_CASE(acquire_after_any_two_events_excludes_the_holder_of_before)
{
    std::vector<pair_of_events> all;
    for (std::size_t a = 0; a < events.size(); ++a) {
        for (std::size_t b = 0; b < events.size(); ++b)
            all.emplace_back(a, b);
    }
    if (!long_proof())
        all = {{0, 1}, {5, 1}, {3, 1}, {2, 6}};
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::vector<std::string> failures;
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < std::min<std::size_t>(all.size(), 6); ++t) {
        threads.emplace_back([&] {
            for (auto i = next++; i < all.size(); i = next++) {
                std::string why;
                try {
                    why = try_chain(all[i]);
                } catch (std::exception const& e) {
                    why = e.what();
                }
                std::lock_guard const lock(mutex);
                if (!why.empty())
                    failures.push_back(std::string(events[all[i].first].name) + ", " + events[all[i].second].name + ": "
                                       + why);
            }
        });
    }
    for (auto& t : threads)
        t.join();
    for (auto const& f : failures)
        BOOST_TEST_ERROR(f);
    BOOST_TEST(next >= all.size());
}

// Shows that the other test can fail.
BOOST_AUTO_TEST_CASE(acquire_after_two_events_without_a_guard_makes_two_holders)
{
    BOOST_TEST(try_chain({0, 1}, restart_guard::off).ends_with("client"));
}

BOOST_AUTO_TEST_SUITE_END()
