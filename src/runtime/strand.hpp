#pragma once

#include <redlock/detail/recycler.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>

#include <concepts>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace redlock::inline v1 {

namespace asio = boost::asio;

namespace runtime {

/** An executor that runs functions one after another, never two at once, on an executor of the user.

    It has the guarantees of `asio::strand<any_io_executor>` at a fraction of the cost. A copy is a counted pointer. A
    function that the strand's own functions post runs in the same pass of the event loop.

    Copies are equal and share their state. Any thread may use them, also during and after `abandon`.
*/
class strand {
public:
    /// A template: otherwise each copy would first be tried as a conversion to the type-erased executor.
    template <std::same_as<asio::any_io_executor> Executor>
    explicit strand(Executor inner) : state_(make_state(std::move(inner)))
    {
    }

    /// A copy whose functions run before others that wait, but not always: every fourth turn belongs to the others.
    /// Timers and nodes use it, so that many calls at once do not delay the renewal of locks.
    strand urgent() const { return strand(state_, may_block_, true); }

    bool running_in_this_thread() const noexcept;

    /// The inner executor, with `blocking.never`. A function that the strand posts there runs after everything that is
    /// due in the event loop. Call it on the strand only.
    asio::any_io_executor const& inner() const noexcept;

    /// The execution context ends. Destroys the waiting functions, and later each new one. Releases the inner executor,
    /// and waits for other threads that are using it.
    void abandon() noexcept;

    /// A weak reference to a strand.
    class weak;

    /// A function whose memory is already allocated, so it can be executed when memory is short.
    class prepared;
    template <class F>
    prepared prepare(F f) const;
    void execute(prepared) const noexcept;  // NOLINT(bugprone-exception-escape): it needs no memory

    // The requirements of an executor.
    template <class F>
    void execute(F&& f) const
    {
        if (!may_block_)
            return push(function_of<std::decay_t<F>>::make(std::forward<F>(f)));
        if (running_in_this_thread()) {
            auto now = std::forward<F>(f);
            return now();
        }
        if (shift t(*this); t) {
            auto now = std::forward<F>(f);
            now();
            return t.finish();
        }
        push(function_of<std::decay_t<F>>::make(std::forward<F>(f)));
    }
    asio::execution_context& query(asio::execution::context_t) const noexcept;
    asio::execution::blocking_t query(asio::execution::blocking_t) const noexcept
    {
        if (may_block_)
            return asio::execution::blocking.possibly;
        return asio::execution::blocking.never;
    }
    strand require(asio::execution::blocking_t::possibly_t) const { return strand(state_, true, is_urgent_); }
    strand require(asio::execution::blocking_t::never_t) const { return strand(state_, false, is_urgent_); }
    friend bool operator==(strand const& a, strand const& b) noexcept
    {
        return a.state_ == b.state_ && a.may_block_ == b.may_block_;
    }

private:
    struct function {
        function* next = nullptr;
        void (*end)(function*, bool run);  ///< destroys the function; calls it if `run` is set
    };

    template <class F>
    struct function_of : function {
        using allocator = detail::recycler<function_of>;

        explicit function_of(F f) : function{nullptr, &finish}, f(std::move(f)) {}

        static function* make(F f)
        {
            struct memory {
                function_of* at = allocator().allocate(1);
                ~memory()
                {
                    if (at)
                        allocator().deallocate(at, 1);
                }
            } m;
            ::new (static_cast<void*>(m.at)) function_of(std::move(f));
            return std::exchange(m.at, nullptr);
        }

        static void finish(function* base, bool run)
        {
            auto* const self = static_cast<function_of*>(base);
            auto taken = std::move(self->f);
            self->~function_of();
            allocator().deallocate(self, 1);  // before the call, so that the function can reuse the memory
            if (run)
                taken();
        }

        F f;
    };

    struct state;

    /// Lets this thread run the strand's functions. It is empty if the thread does not belong to the inner executor, or
    /// if another thread runs them.
    class shift {
    public:
        explicit shift(strand const&) noexcept;
        explicit shift(std::shared_ptr<state> claimed) noexcept;
        ~shift();
        shift(shift const&) = delete;
        explicit operator bool() const noexcept { return state_ != nullptr; }
        void finish();  ///< runs the functions that were queued meanwhile

    private:
        void claim(std::shared_ptr<state>) noexcept;

        std::shared_ptr<state> state_;  // a function may hold the last reference to the strand
        state* outer_ = nullptr;
    };

    static std::shared_ptr<state> make_state(asio::any_io_executor inner);

    strand(std::shared_ptr<state> s, bool may_block, bool is_urgent) noexcept
        : state_(std::move(s)), may_block_(may_block), is_urgent_(is_urgent)
    {
    }
    void push(function*) const;

    std::shared_ptr<state> state_;
    bool may_block_ = true;
    bool is_urgent_ = false;
};

class strand::weak {
public:
    explicit weak(strand const& s) noexcept : state_(s.state_) {}

    bool expired() const noexcept { return state_.expired(); }

    /// Abandons the strand if it still exists.
    void abandon() const noexcept;

private:
    std::weak_ptr<state> state_;
};

class strand::prepared {
public:
    prepared() = default;
    prepared(prepared&& other) noexcept : f_(std::exchange(other.f_, nullptr)) {}
    prepared& operator=(prepared&& other) noexcept
    {
        std::swap(f_, other.f_);
        return *this;
    }
    ~prepared()
    {
        if (f_)
            f_->end(f_, false);
    }

private:
    friend class strand;
    explicit prepared(function* f) noexcept : f_(f) {}

    function* f_ = nullptr;
};

template <class F>
strand::prepared strand::prepare(F f) const
{
    return prepared(function_of<F>::make(std::move(f)));
}

}  // namespace runtime
}  // namespace redlock
