#pragma once

#include "etcd/channel.hpp"
#include "etcd/expiries.hpp"

#include <redlock/node.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>

namespace redlock::etcd_v3 {

/// Deletes what has expired, by commands like those of a manager.
class deletions : public std::enable_shared_from_this<deletions> {
public:
    /// @p submit: hands a command over.
    deletions(asio::any_io_executor e, std::shared_ptr<expiries> all, std::function<void(std::shared_ptr<node_operation>)> submit)
        : expiries_(std::move(all)), submit_(std::move(submit)), timer_(std::move(e))
    {
    }

    /// What expires next may have changed.
    void plan();

    void stop();  ///< for ever

private:
    class deletion;

    void begin();

    std::shared_ptr<expiries> const expiries_;
    std::function<void(std::shared_ptr<node_operation>)> submit_;  ///< empty: it has stopped
    timer timer_;
};

}  // namespace redlock::etcd_v3
