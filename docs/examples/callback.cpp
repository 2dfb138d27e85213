// Callbacks instead of coroutines: each asynchronous function takes any completion token.

#include <redlock.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

//[callback
class sale {
public:
    sale(redlock::lock_manager& locks, std::chrono::seconds work) : locks_(locks), work_(locks.get_executor(), work) {}

    void start(redlock::acquire_options options)
    {
        locks_.async_acquire("stock:hair-dryer", options,
                             [this](redlock::error_code ec, redlock::lock held) { on_acquired(ec, std::move(held)); });
    }

    redlock::error_code result;

private:
    void on_acquired(redlock::error_code ec, redlock::lock held)
    {
        if (ec)
            return finish(ec);
        held_ = std::move(held);  // keep the handle: destroying it releases the lock
        held_.async_wait_lost([this](redlock::error_code why) {
            if (why == redlock::errc::lost)  // operation_aborted: the lock was released
                work_.cancel();
        });
        work_.async_wait([this](redlock::error_code) {  // stands for the work
            held_.async_release([this](redlock::error_code released) { finish(released); });
        });
    }

    void finish(redlock::error_code ec)
    {
        result = ec;
        locks_.async_shutdown([](redlock::error_code) {});
    }

    redlock::lock_manager& locks_;
    asio::steady_timer work_;
    redlock::lock held_;
};
//]

redlock::error_code sell(std::vector<std::string> const& nodes, redlock::acquire_options options,
                         std::chrono::seconds work)
{
    asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = nodes});
    sale s(locks, work);
    s.start(options);
    context.run();
    std::cout << (s.result ? s.result.message() : "sold") << '\n';
    return s.result;
}

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};

    bool const sold = !sell(nodes, {.ttl = 10s, .wait = 2s}, 0s);
    bool const lost = sell(nodes, {.ttl = 10s, .wait = 2s, .max_hold = 300ms}, 3600s) == redlock::errc::not_held;
    return sold && lost ? 0 : 1;
}
