// Tests a loss, a long hold and a quarantine with a manual clock, which takes no real time.

#include <redlock.hpp>

#include <boost/asio.hpp>

#include <iostream>
#include <optional>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using redlock::memory_server;

// Imports data while it holds the lock.
struct importer {
    asio::awaitable<void> run(redlock::lock_manager& locks)
    {
        auto import = [this](redlock::lock&) -> asio::awaitable<void> {
            state = "importing";
            asio::steady_timer arrivals(co_await asio::this_coro::executor, 24h);
            co_await arrivals.async_wait(asio::deferred);  // throws operation_aborted when the lock is lost
        };
        try {
            co_await locks.with_lock("import", {.ttl = 10s}, import);
        } catch (redlock::lock_error const& e) {
            state = e.code() == redlock::errc::lost ? "stopped" : "not begun";
        }
    }

    std::string state = "idle";
};

int failures = 0;

void expect(std::string const& wanted, std::string const& got)
{
    std::cout << "expected \"" << wanted << "\", got \"" << got << "\"\n";
    failures += got != wanted;
}

//[fixture
struct fixture {
    std::shared_ptr<memory_server> a = memory_server::at("a"), b = memory_server::at("b"), c = memory_server::at("c");
    std::shared_ptr<redlock::testing::manual_clock> clock = std::make_shared<redlock::testing::manual_clock>();
    asio::io_context context;
    redlock::lock_manager locks{context, {.nodes = {"memory://a", "memory://b", "memory://c"}, .test_clock = clock}};
    importer one;

    void begin()
    {
        asio::co_spawn(context, one.run(locks), asio::detached);
        clock->advance(context, 1s);
    }
};
//]

int main()
{
    //[loss
    {
        fixture f;
        f.begin();
        f.clock->advance(f.context, 1h);  // hundreds of renewals
        expect("importing", f.one.state);
        f.a->set_fault(memory_server::fault::unreachable);
        f.b->set_fault(memory_server::fault::unreachable);
        f.clock->advance(f.context, 5s);
        expect("importing", f.one.state);  // the renewals fail, and the manager retries them
        f.clock->advance(f.context, 5s);
        expect("stopped", f.one.state);  // before the validity ends
    }
    //]
    {
        fixture f;
        f.begin();
        f.a->erase("lock:import");
        f.clock->advance(f.context, 5s);
        expect("importing", f.one.state);  // two nodes still had the key; a renewal has set it again
                                           // (manager_options::heal)
        f.a->set("lock:import", "somebody else", 1min);
        f.b->set("lock:import", "somebody else", 1min);
        f.clock->advance(f.context, 5s);
        expect("stopped", f.one.state);
    }
    {
        fixture f;
        f.begin();
        f.a->restart(), f.b->restart();  // a majority has lost its keys: it does not vote for max_ttl, a minute
        f.clock->advance(f.context, 20s);
        expect("stopped", f.one.state);
        f.begin();
        expect("not begun", f.one.state);
        f.clock->advance(f.context, 40s);
        f.begin();
        expect("importing", f.one.state);
    }
    {
        fixture f;
        redlock::lock held;
        f.locks.async_try_acquire("report", [&](redlock::error_code, redlock::lock l) { held = std::move(l); });
        f.clock->advance(f.context, 0s);
        redlock::testing::lose(held);  // simulates a loss for any reason
        f.clock->advance(f.context, 0s);
        expect("lost", held.held() ? "held" : "lost");
    }
    return failures;
}
