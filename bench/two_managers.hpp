#pragma once

#include "fleet.hpp"
#include "bed/plain_client.hpp"

#include <redlock.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace redlock::bench {

/// A holder and a waiter that stand for two processes: they communicate only through the servers.
class two_managers {
public:
    explicit two_managers(manager_options const&);
    ~two_managers();
    two_managers(two_managers const&) = delete;
    two_managers& operator=(two_managers const&) = delete;

protected:
    void run_until(std::function<bool()> const& done);
    void run_for(std::chrono::milliseconds);

    lock acquire(lock_manager& by, resource_set const& names,
                 acquire_options const& options = {.wait = std::chrono::seconds(10)});

    /// Returns when the managers have nothing left to clean up.
    void release(lock held);

    asio::io_context context_{1};
    lock_manager holder_, waiter_;
};

/// Opens a blocking connection to each server.
std::vector<std::unique_ptr<testbed::plain_client>> connect_to_all(fleet const&);

}  // namespace redlock::bench
