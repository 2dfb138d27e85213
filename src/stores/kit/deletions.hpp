#pragma once

#include "stores/kit/expiries.hpp"

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>

#include <functional>
#include <memory>

namespace redlock::stores::kit {

/// Deletes expired keys, with the same commands as a manager.
class deletions : public std::enable_shared_from_this<deletions> {
public:
    /// @param submit gives a command to the driver
    deletions(asio::any_io_executor const& e, std::shared_ptr<expiries> all,
              std::function<void(std::shared_ptr<node_operation>)> submit)
        : expiries_(std::move(all)), submit_(std::move(submit)), timer_(e)
    {
    }

    /// Sets the timer to the next expiry. Call it after each change of the expiries.
    void plan();

    void stop();  ///< for ever

private:
    class deletion;

    void begin();

    std::shared_ptr<expiries> const expiries_;
    std::function<void(std::shared_ptr<node_operation>)> submit_;  ///< empty: stopped
    asio::basic_waitable_timer<clock, asio::wait_traits<clock>, asio::any_io_executor> timer_;
};

}  // namespace redlock::stores::kit
