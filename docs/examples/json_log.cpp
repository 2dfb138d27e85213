// Writes each event of a manager as a line with a JSON object.

#include <redlock.hpp>

#include <boost/asio.hpp>

#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};
    asio::io_context context;
    int lines = 0;
    //[log
    auto const print = [&](redlock::log_level, std::string_view line) {
        std::cout << line << '\n';
        ++lines;
    };
    redlock::lock_manager locks(context, {.nodes = nodes, .observer = redlock::log_json(print)});
    //]
    auto run = [&]() -> asio::awaitable<void> {
        redlock::lock held = co_await locks.async_try_acquire("report", {.ttl = 2s});
        co_await held.async_release();
        co_await locks.async_shutdown();
    };
    asio::co_spawn(context, run, [](std::exception_ptr e) { e ? std::rethrow_exception(e) : void(); });
    context.run();
    return lines >= 4 ? 0 : 1;
}
