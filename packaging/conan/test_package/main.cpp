#include <redlock.hpp>

#include <boost/asio/io_context.hpp>

int main()
{
    boost::asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = {"memory://a"}});
    bool held = false;
    locks.async_try_acquire("stock", [&](redlock::error_code, redlock::lock lock) {
        held = lock.held();
        locks.async_shutdown([](redlock::error_code) {});
    });
    context.run();
    return held ? 0 : 1;
}
