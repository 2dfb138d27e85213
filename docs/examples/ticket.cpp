// A lock that stays when its process ends: one process acquires it, another process resumes and releases it.

#include <redlock.hpp>

#include <boost/asio.hpp>

#include <iostream>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

//[leave
// Returns the secret of the lock. Keep it, for example, in a file that others cannot read.
asio::awaitable<std::string> begin_import(redlock::lock_manager& locks)
{
    auto held = co_await locks.async_try_acquire("import", {.ttl = 30s});
    redlock::lock_ticket const ticket = held.detach();  // the lock stays until its ttl is over, without renewal
    co_return ticket.token;
}
//]

//[go_on
asio::awaitable<void> finish_import(redlock::lock_manager& locks, std::string token)
{
    redlock::lock_ticket const ticket{.resources = "import", .token = token};
    redlock::acquire_options const options{.ttl = 30s, .renew = redlock::renewal::automatic};
    auto held = co_await locks.async_resume(ticket, options);  // throws errc::lost if the lock has expired
    std::cout << "going on with " << held.resource() << "\n";
    co_await held.async_release();
}

asio::awaitable<void> give_up_import(redlock::lock_manager& locks, std::string token)
{
    redlock::lock_ticket const ticket{.resources = "import", .token = token};
    co_await locks.async_release(ticket);  // throws errc::not_held if the lock has expired
}
//]

asio::awaitable<bool> is_over(redlock::lock_manager& locks, std::string token)
{
    redlock::lock_ticket const ticket{.resources = "import", .token = token};
    auto [ec, held] = co_await locks.async_resume(ticket, asio::as_tuple(asio::use_awaitable));
    co_return ec == redlock::errc::lost;
}

// Stands for a process: it has its own manager, which is destroyed when the function returns.
template <class F>
auto in_a_process(std::vector<std::string> const& nodes, F f)
{
    asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = nodes});
    auto result = asio::co_spawn(context, f(locks), asio::use_future);
    while (result.wait_for(0s) != std::future_status::ready)
        context.run_one();
    locks.async_shutdown([](redlock::error_code) {});
    context.run();
    return result.get();
}

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};
    // These pointers keep the memory nodes alive between the managers.
    auto const a = redlock::memory_server::at("a"), b = redlock::memory_server::at("b"),
               c = redlock::memory_server::at("c");

    auto token = in_a_process(nodes, begin_import);
    in_a_process(nodes, [&](auto& locks) { return finish_import(locks, token); });
    token = in_a_process(nodes, begin_import);
    in_a_process(nodes, [&](auto& locks) { return give_up_import(locks, token); });
    return in_a_process(nodes, [&](auto& locks) { return is_over(locks, token); }) ? 0 : 1;
}
