#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/detail/recycler.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/execution/allocator.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/system_executor.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace redlock::inline v1 {

namespace asio = boost::asio;

namespace detail {

/// An operation that a user's cancellation slot can reach.
class REDLOCK_API cancellable {
public:
    virtual ~cancellable() = default;

    /// The user's thread calls it.
    virtual void request_cancel(asio::cancellation_type) = 0;
};

template <class Signature>
class completion;

/// The parameters of a user's handler.
template <class... Results>
struct results {};

/** The executor of an operation without a context: its lock is empty, or its execution context has ended.

    It differs from the system executor in one point. A handler without an executor of its own is called immediately,
    not on a thread that the user does not know.
*/
struct nowhere : asio::system_executor {};

/** The type-erased handler of a user, while its operation runs.

    It keeps the handler's executor busy, and posts the result there. It never calls the handler inline (except with
    @ref nowhere), so that no user code runs on the manager's strand. Unlike `any_completion_handler` it keeps the type
    of the handler's executor, which saves half of the allocations of an operation.
*/
template <class... Results>
class completion<void(Results...)> {
public:
    completion() = default;

    /// @p otherwise is the executor for handlers without one of their own.
    template <class Handler>
    completion(Handler handler, asio::any_io_executor otherwise)
        : completion(std::move(handler), std::move(otherwise), results<Results...>())
    {
    }

    /// For a handler whose parameters are of other types. They are constructed from the results.
    template <class Handler, class... Taken>
    completion(Handler handler, asio::any_io_executor otherwise, results<Taken...>)
        : box_(make_box<Taken...>(std::move(handler), std::move(otherwise)))
    {
    }

    explicit operator bool() const noexcept { return box_ != nullptr; }

    void operator()(Results... results) { box_.release()->complete(std::move(results)...); }

    /// Connects the user's cancellation slot to @p operation, as long as the operation exists.
    void on_cancel(std::weak_ptr<cancellable> operation) { box_->on_cancel(std::move(operation)); }

private:
    struct box {
        virtual void complete(Results... results) = 0;  // destroys the box
        virtual void on_cancel(std::weak_ptr<cancellable> operation) = 0;
        virtual void destroy() noexcept = 0;

    protected:
        ~box() = default;
    };

    struct destroy_box {
        void operator()(box* b) const noexcept { b->destroy(); }
    };
    using box_ptr = std::unique_ptr<box, destroy_box>;

    template <class Handler, class... Taken>
    struct box_of final : box {
        using handler_executor = asio::associated_executor_t<Handler, asio::any_io_executor>;
        using handler_allocator = asio::associated_allocator_t<Handler, recycler<void>>;
        using box_allocator = typename std::allocator_traits<handler_allocator>::template rebind_alloc<box_of>;

        static handler_allocator allocator_of(Handler const& h) noexcept
        {
            return asio::get_associated_allocator(h, recycler<void>());
        }

        box_of(Handler h, asio::any_io_executor otherwise)
            : handler(std::move(h)),
              work(asio::get_associated_executor(handler, otherwise)),
              io_executor(std::move(otherwise))
        {
        }

        void complete(Results... given) override
        {
            // Read before the move: a moved-from handler must not be asked for its allocator.
            box_allocator const own(allocator_of(handler));
            auto taken = std::move(handler);
            auto const otherwise = std::move(io_executor);
            auto const busy = std::move(work);
            destroy(own);  // before the handler runs, so that the handler can reuse the memory
            // Executes directly if that is possible; asio::post would wrap the handler again.
            if constexpr (std::is_same_v<handler_executor, asio::any_io_executor>) {
                // The type-erased executor is usually that of an io_context, which can use our allocator.
                auto const executor = busy.get_executor();
                if (auto const* loop = executor.template target<asio::io_context::executor_type>())
                    return post_to(*loop, std::move(taken), Taken(std::move(given))...);
                if (executor.template target<nowhere>()) {
                    std::move(taken)(Taken(std::move(given))...);  // a returned value is ignored
                    return;
                }
            }
            if constexpr (asio::can_require<handler_executor, asio::execution::blocking_t::never_t>::value) {
                post_to(busy.get_executor(), std::move(taken), Taken(std::move(given))...);
            } else {
                asio::post(otherwise, asio::append(std::move(taken), Taken(std::move(given))...));
            }
        }

        template <class Executor>
        static void post_to(Executor const& executor, Handler h, Taken... values)
        {
            auto const target = asio::prefer(asio::require(executor, asio::execution::blocking.never),
                                             asio::execution::allocator(allocator_of(h)));
            target.execute(bind(std::move(h), std::move(values)...));
        }

        void on_cancel(std::weak_ptr<cancellable> operation) override
        {
            auto slot = asio::get_associated_cancellation_slot(handler);
            if (!slot.is_connected())
                return;
            slot.assign([operation = std::move(operation)](asio::cancellation_type type) {
                if (auto const alive = operation.lock())
                    alive->request_cancel(type);
            });
        }

        void destroy() noexcept override { destroy(box_allocator(allocator_of(handler))); }

        void destroy(box_allocator allocator) noexcept
        {
            std::allocator_traits<box_allocator>::destroy(allocator, this);
            std::allocator_traits<box_allocator>::deallocate(allocator, this, 1);
        }

        static auto bind(Handler h, Taken... values)
        {
            return [h = std::move(h), ... values = std::move(values)]() mutable { std::move(h)(std::move(values)...); };
        }

        Handler handler;
        asio::executor_work_guard<handler_executor> work;
        asio::any_io_executor io_executor;
    };

    template <class... Taken, class Handler>
    static box_ptr make_box(Handler handler, asio::any_io_executor otherwise)
    {
        using traits = std::allocator_traits<typename box_of<Handler, Taken...>::box_allocator>;
        typename traits::allocator_type allocator(box_of<Handler, Taken...>::allocator_of(handler));
        auto* const memory = traits::allocate(allocator, 1);
        try {
            traits::construct(allocator, memory, std::move(handler), std::move(otherwise));
        } catch (...) {
            traits::deallocate(allocator, memory, 1);
            throw;
        }
        return box_ptr(memory);
    }

    box_ptr box_;
};

}  // namespace detail
}  // namespace redlock
