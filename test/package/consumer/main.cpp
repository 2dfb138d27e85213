#include <redlock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>

using namespace std::chrono_literals;

namespace {

boost::asio::awaitable<void> run(redlock::lock_manager& locks, bool& held)
{
    held = co_await locks.with_lock("stock", {.ttl = 10s, .wait = 1s},
                                    [](redlock::lock& lock) -> boost::asio::awaitable<bool> { co_return lock.held(); });
    co_await locks.async_shutdown();
}

}  // namespace

int main()
{
    boost::asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = {"memory://a", "memory://b", "memory://c"}});
    bool held = false;
    boost::asio::co_spawn(context, run(locks, held), [](std::exception_ptr e) {
        if (e)
            std::rethrow_exception(e);
    });
    context.run();
    // A program with Redis nodes over TLS links, too.
    redlock::lock_manager real(context, {.nodes = {"rediss://localhost:1"}});
    return held ? 0 : 1;
}
