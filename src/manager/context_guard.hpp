#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace redlock::detail {

class engine;

/** Tells the engines on an execution context that it goes.

    Managers and handles may outlive the context. What they refer to in it (sockets, timers, suspended
    coroutines) must go while it is still there.
*/
class context_guard final : public boost::asio::execution_context::service {
public:
    using key_type = context_guard;
    static inline boost::asio::execution_context::id id;

    explicit context_guard(boost::asio::execution_context& context) : service(context) {}

    static void watch(boost::asio::any_io_executor const& executor, std::shared_ptr<engine> const& e);

private:
    void shutdown() override;

    std::mutex mutex_;
    std::vector<std::weak_ptr<engine>> engines_;
};

}  // namespace redlock::detail
