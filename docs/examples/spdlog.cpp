// The lines of a manager go to spdlog, with their levels. A thread of spdlog writes them.

#include <redlock.hpp>

#include <boost/asio.hpp>

#include <spdlog/async.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;

//[adapter
redlock::log_function to_spdlog(std::shared_ptr<spdlog::logger> logger)
{
    return [logger = std::move(logger)](redlock::log_level level, std::string_view line) {
        constexpr spdlog::level::level_enum levels[] = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                                        spdlog::level::err};
        logger->log(levels[static_cast<int>(level)], spdlog::string_view_t(line.data(), line.size()));
    };
}
//]

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};
    std::ostringstream text;
    auto const sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text);

    //[main
    spdlog::init_thread_pool(8192, 1);  // lines in the queue, threads
    auto const logger = std::make_shared<spdlog::async_logger>("redlock", sink, spdlog::thread_pool(),
                                                               spdlog::async_overflow_policy::overrun_oldest);
    logger->set_level(spdlog::level::debug);

    asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = nodes, .log = to_spdlog(logger)});
    //]

    auto run = [&]() -> asio::awaitable<void> {
        redlock::lock held = co_await locks.async_try_acquire("report {}", {.ttl = 2s});
        redlock::testing::lose(held);
        held = {};
        co_await locks.async_shutdown();
    };
    asio::co_spawn(context, run, [](std::exception_ptr e) { e ? std::rethrow_exception(e) : void(); });
    context.run();
    //[end
    spdlog::shutdown();  // waits until the queue is written
    //]

    std::cout << text.str();
    return text.str().find("[redlock] [warning] lost \"report {}\": ") != std::string::npos ? 0 : 1;
}
