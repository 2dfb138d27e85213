// Senders and receivers: stdexec's completion token for Asio makes a sender from each asynchronous function.

#include <redlock.hpp>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include <exec/asio/use_sender.hpp>
#include <exec/when_any.hpp>
#include <stdexec/execution.hpp>

#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

//[sell
template <class Work>
auto sell(redlock::lock_manager& locks, Work work)
{
    using exec::asio::use_sender;
    redlock::acquire_options const options{
        .ttl = 10s, .wait = redlock::wait_forever, .renew = redlock::renewal::automatic};
    return locks.async_acquire("stock:hair-dryer", options, use_sender)
           | stdexec::let_value([work](redlock::lock& held) {
                 // A loss stops the work.
                 return exec::when_any(work(held), held.async_wait_lost(use_sender))
                        | stdexec::let_value([&held] { return held.async_release(use_sender); });
             });
}
//]

int failures = 0;

void expect(std::string const& wanted, std::string const& got)
{
    std::cout << "expected \"" << wanted << "\", got \"" << got << "\"\n";
    failures += got != wanted;
}

int main()
{
    auto const a = redlock::memory_server::at("a"), b = redlock::memory_server::at("b");
    asio::thread_pool pool(1);
    redlock::lock_manager locks(pool, {.nodes = {"memory://a", "memory://b", "memory://c"}});
    asio::steady_timer timer(pool, 10ms);
    //[run
    stdexec::sync_wait(sell(locks, [&](redlock::lock&) { return timer.async_wait(exec::asio::use_sender); }));
    //]
    expect("1 released", std::to_string(locks.stats().released) + " released");

    timer.expires_after(1h);
    try {
        stdexec::sync_wait(sell(locks, [&](redlock::lock& held) {
            redlock::testing::lose(held);
            return timer.async_wait(exec::asio::use_sender);
        }));
        expect("an exception", "none");
    } catch (redlock::system_error const& e) {
        expect(make_error_code(redlock::errc::lost).message(), e.code().message());
    }

    for (auto const& node : {a, b})
        node->set("lock:stock:hair-dryer", "somebody else", 1h);
    timer.expires_after(100ms);
    bool has_worked = false;
    auto const work = [&](redlock::lock&) {
        has_worked = true;
        return stdexec::just();
    };
    stdexec::sync_wait(exec::when_any(sell(locks, work), timer.async_wait(exec::asio::use_sender)));
    expect("cancelled", has_worked ? "worked" : "cancelled");

    stdexec::sync_wait(locks.async_shutdown(exec::asio::use_sender));
    pool.join();
    return failures;
}
