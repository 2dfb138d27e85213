#pragma once

#include "runtime/strand.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace redlock::inline v0::runtime {

/// What refers to something in an execution context, and may outlive it.
class guest_of_context {
public:
    /// The execution context goes: lets go of everything in it.
    virtual void abandon() = 0;

protected:
    ~guest_of_context() = default;
};

/** Tells the managers on an execution context that it goes.

    Managers and handles may outlive the context. What they refer to in it (sockets, timers, suspended
    coroutines) must go while it is still there. So must what waits on the strand of a manager that is gone already: it
    keeps the strand, and the strand keeps it.
*/
class context_guard final : public boost::asio::execution_context::service {
public:
    using key_type = context_guard;
    static inline boost::asio::execution_context::id id;

    explicit context_guard(boost::asio::execution_context& context) : service(context) {}

    static void watch(boost::asio::any_io_executor const& executor, std::shared_ptr<guest_of_context> const&,
                      strand const&);

private:
    void shutdown() override;

    struct watched {
        std::weak_ptr<guest_of_context> guest;
        redlock::runtime::strand::weak strand;
    };

    std::mutex mutex_;
    std::vector<watched> all_;
};

}  // namespace redlock::runtime
