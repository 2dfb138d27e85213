#pragma once

#include "runtime/strand.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace redlock::inline v1::runtime {

/// An object that refers to objects in an execution context, and may live longer than the context.
class context_user {
public:
    /// The execution context ends. Releases all references to objects in the context.
    virtual void abandon() = 0;

protected:
    ~context_user() = default;
};

/** Notifies the managers on an execution context before the context ends.

    Managers and handles may live longer than the context. Their sockets, timers and suspended coroutines belong to the
    context, so they must be destroyed before it. The same applies to functions that wait on the strand of a destroyed
    manager: the functions keep the strand, and the strand keeps the functions.
*/
class context_guard final : public boost::asio::execution_context::service {
public:
    using key_type = context_guard;
    static inline boost::asio::execution_context::id id;

    explicit context_guard(boost::asio::execution_context& context) : service(context) {}

    static void watch(boost::asio::any_io_executor const& executor, std::shared_ptr<context_user> const&,
                      strand const&);

private:
    void shutdown() override;

    struct watched {
        std::weak_ptr<context_user> guest;
        redlock::runtime::strand::weak strand;
    };

    std::mutex mutex_;
    std::vector<watched> all_;
};

}  // namespace redlock::runtime
