// A program with locks in PostgreSQL links the component redlock::postgresql.

#include <redlock.hpp>
#include <redlock/postgresql.hpp>

#include <boost/asio/io_context.hpp>

#include <iostream>

int main()
{
    boost::asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = {"postgresql://app:secret@127.0.0.1:1/app?connections=1"},
                                          .stores = {redlock::postgresql({.table = "app_locks"})}});
    bool refused = false;
    locks.async_acquire("stock", [&](redlock::error_code ec, redlock::lock held) {
        refused = ec == redlock::errc::no_quorum && !held.held();  // no server listens on this port
        locks.async_shutdown([](redlock::error_code) {});
    });
    context.run();
    std::cout << (refused ? "" : "not refused\n");
    return refused ? 0 : 1;
}
