// Memory runs out in one place after the other, on a real server: each handler is called once, and no key is left.

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include "support/failing_memory.hpp"
#include "support/long_proof.hpp"
#include "support/real_servers.hpp"

#include "net/url.hpp"
#include "runtime/runtime.hpp"
#include "stores/redis/connection.hpp"
#include "stores/redis/socket_transport.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(memory)

namespace {

/// The test's own allocations do not fail while it exists.
struct own_memory {
    own_memory() = default;
    ~own_memory() { failing_memory::in = piece; }
    own_memory(own_memory const&) = delete;
    own_memory& operator=(own_memory const&) = delete;

    int const piece = std::exchange(failing_memory::in, 0);
};

/// Calls one after the other. An exception from the beginning of a call is a call that was not made.
class careful_caller {
public:
    careful_caller(real_servers& all, int piece)
        : all_(all), locks_(std::in_place, all.context, all.settings({.node_timeout = 300ms}))
    {
        failing_memory::in = piece;
    }

    lock_manager& locks() { return *locks_; }

    template <class... Results, class Start>
    void call(char const* name, Start start)
    {
        begin<Results...>(name, std::move(start));
        finish();
    }

    /// A call that ends because of others.
    template <class... Results, class Start>
    void begin(char const* name, Start start)
    {
        auto const ended = [] {
            own_memory const own;
            return std::make_shared<int>(0);
        }();
        try {
            start([ended](error_code, Results...) { ++*ended; });
        } catch (std::bad_alloc const&) {
            return;
        }
        own_memory const own;
        begun_.emplace_back(name, ended);
    }

    /// Waits until the handlers of all calls have been called.
    void finish()
    {
        run([&] { return std::ranges::all_of(begun_, [](auto& b) { return *b.second > 0; }); }, 30s);
        run([&] { return false; }, 1ms);
        own_memory const own;
        for (auto const& [name, ended] : std::exchange(begun_, {})) {
            if (*ended != 1)
                wrong_ += std::string(name) + ": " + std::to_string(*ended) + " calls; ";
        }
    }

    template <class Condition>
    void run(Condition done, std::chrono::milliseconds longest)
    {
        auto const end = std::chrono::steady_clock::now() + longest;
        while (!done() && std::chrono::steady_clock::now() < end) {
            try {
                all_.context.restart();
                all_.context.run_one_for(2ms);
            } catch (std::bad_alloc const&) {
                ++thrown_;
            }
        }
    }

    /// @return whether memory ran out
    bool end()
    {
        bool const failed = failing_memory::in == 0;
        failing_memory::in = 0;
        call<>("shutdown", [&](auto done) { locks_->async_shutdown(std::move(done)); });
        run([&] { return all_[0].ask({"EXISTS", "lock:stock"}) == "0"; }, 8s);
        locks_.reset();
        return failed;
    }

    std::string const& wrong() const { return wrong_; }
    int thrown() const { return thrown_; }

private:
    real_servers& all_;
    std::optional<lock_manager> locks_;
    std::vector<std::pair<char const*, std::shared_ptr<int>>> begun_;
    std::string wrong_;
    int thrown_ = 0;
};

void use(careful_caller& c, local_server& server)
{
    auto& locks = c.locks();
    lock held;
    lock_info seen;
    c.call<lock>("acquire", [&](auto done) {
        locks.async_acquire("stock", {.ttl = 4s, .wait = 2s}, [&held, done](error_code ec, lock l) mutable {
            held = std::move(l);
            done(ec, lock());
        });
    });
    if (held.held())
        c.call<>("extend", [&](auto done) { held.async_extend(5s, std::move(done)); });
    c.call<lock_info>("inspect", [&](auto done) {
        locks.async_inspect("stock", [&seen, done](error_code ec, lock_info i) mutable {
            seen = std::move(i);
            done(ec, lock_info());
        });
    });
    c.call<lock_page>("list", [&](auto done) { locks.async_list("*", std::move(done)); });
    if (seen.locked)
        c.begin<lock_info>("watch", [&](auto done) { locks.async_watch(seen, std::move(done)); });
    if (held.held())
        c.call<>("release", [&](auto done) { held.async_release(std::move(done)); });
    c.finish();
    if (own_memory const own; server.ask({"CLIENT", "KILL", "TYPE", "normal"}).empty())
        return;
    c.call<lock>("acquire after the connection ended",
                 [&](auto done) { locks.async_acquire("stock", {.ttl = 4s, .wait = 2s}, std::move(done)); });
    c.call<break_info>("break", [&](auto done) { locks.async_break(seen, std::move(done)); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(memory_that_runs_out_once_loses_no_handler)
{
    real_servers all(1);
    int failures = 0, thrown = 0;
    for (int piece = 1, unfailed = 0; piece <= 5000 && unfailed < 3; piece += long_proof() || piece < 8 ? 1 : 50) {
        careful_caller c(all, piece);
        use(c, all[0]);
        bool const failed = c.end();
        unfailed = failed ? 0 : unfailed + 1;
        failures += failed;
        thrown += c.thrown();
        BOOST_TEST_CONTEXT("piece " << piece) {
            BOOST_TEST(c.wrong() == "");
            BOOST_TEST(all[0].ask({"EXISTS", "lock:stock"}) == "0");
        }
    }
    BOOST_TEST_MESSAGE(failures << " failures, " << thrown << " of them thrown by the event loop");
    BOOST_TEST(failures > 8);
}

namespace {

/// Counts how often a connection returns a large batch.
struct batch_owner final : stores::redis::connection::owner {
    node_reply check_server(stores::redis::introduction const&) override { return {}; }
    void connected(server_identity const&) override { up = true; }
    void disconnected() override {}
    void answered(stores::redis::batch& b) override { returned += b.request.bytes().size() > (1 << 20); }
    void push_arrived(std::string_view) override {}
    void changed(std::string_view) override {}
    void log(log_level, std::string const&) const override {}

    bool up = false;
    int returned = 0;
};

}  // namespace

// The server reads nothing, so the client must keep the rest of the request.
BOOST_AUTO_TEST_CASE(memory_that_runs_out_within_a_request_returns_it_once)
{
    std::string const value(24 << 20, 'x');
    for (int piece = 1; piece <= 8; ++piece) {
        local_server server;
        asio::io_context context;
        auto const run_to = [&](auto done, std::chrono::milliseconds longest) {
            for (auto const end = std::chrono::steady_clock::now() + longest;
                 !done() && std::chrono::steady_clock::now() < end;)
                context.run_one_for(5ms);
        };
        manager_options const c{.nodes = {server.url()}, .restart_guard = restart_guard::off};
        auto const url = net::parse_url(server.url());
        batch_owner owner;
        auto const r = runtime::make_system_runtime(context.get_executor());
        stores::redis::connection connection(url, c, owner, stores::redis::make_socket_transport(url, c, {}));
        connection.start(r);
        asio::post(r->strand(), [&] { connection.open(); });
        run_to([&] { return owner.up; }, 20s);
        ::kill(server.pid(), SIGSTOP);
        auto const request = connection.take_batch();
        request->request.push("SET", std::string_view("k"), std::string_view(value));
        asio::post(r->strand(), [&] {
            failing_memory::in = piece;
            connection.send(request);
            failing_memory::in = 0;
        });
        run_to([&] { return owner.returned > 0; }, 100ms);  // at most once, if the request was kept
        ::kill(server.pid(), SIGCONT);
        run_to([&] { return owner.returned > 0; }, 20s);
        run_to([] { return false; }, 20ms);
        BOOST_TEST(owner.returned == 1, "piece " << piece << ": " << owner.returned << " times");
        asio::post(r->strand(), [&] { connection.close(); });
        run_to([] { return false; }, 20ms);
    }
}

BOOST_AUTO_TEST_SUITE_END()

#endif
