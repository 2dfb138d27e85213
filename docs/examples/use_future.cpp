// For threads that block: the manager runs on a thread of its own, and operations return futures.

#include <redlock.hpp>

#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

//[report
bool write_report(redlock::lock_manager& locks)
{
    try {
        redlock::acquire_options const options{.ttl = 1s, .renew = redlock::renewal::automatic};
        redlock::lock held = locks.async_try_acquire("nightly-report", options, asio::use_future).get();
        while (held.held()) {                    // check before each step of the work
            std::this_thread::sleep_for(100ms);  // one step of the work
            if (locks.stats().renewals >= 2)     // ends this example
                break;
        }
        held.async_release(asio::use_future).get();
        return true;
    } catch (redlock::system_error const& e) {
        if (e.code() != redlock::errc::contended)
            throw;
        return false;  // another process writes the report
    }
}
//]

//[main
int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};

    asio::thread_pool pool(1);
    redlock::lock_manager locks(pool, {.nodes = nodes});
    bool const written = write_report(locks);
    locks.async_shutdown(asio::use_future).get();
    pool.join();

    std::cout << (written ? "written\n" : "somebody else is writing\n");
    return written ? 0 : 1;
}
//]
