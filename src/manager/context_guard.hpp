#pragma once

#include "strand.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace redlock::detail {

class engine;

/** Tells the engines on an execution context that it goes.

    Managers and handles may outlive the context. What they refer to in it (sockets, timers, suspended
    coroutines) must go while it is still there. So must what waits on the strand of an engine that is gone already: it keeps the
    strand, and the strand keeps it.
*/
class context_guard final : public boost::asio::execution_context::service {
public:
    using key_type = context_guard;
    static inline boost::asio::execution_context::id id;

    explicit context_guard(boost::asio::execution_context& context) : service(context) {}

    static void watch(boost::asio::any_io_executor const& executor, std::shared_ptr<engine> const& e, strand const& s);

private:
    void shutdown() override;

    struct watched {
        std::weak_ptr<detail::engine> engine;
        detail::strand::weak strand;
    };

    std::mutex mutex_;
    std::vector<watched> all_;
};

}  // namespace redlock::detail
