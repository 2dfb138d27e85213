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

namespace redlock::inline v0 {

namespace asio = boost::asio;

namespace runtime {

/** An executor that runs functions one after another, never two at once, on an executor of the user's.

    What `asio::strand<any_io_executor>` promises, for a fraction of its price: a copy is a counted pointer, and what
    functions on the strand post to it runs in the same pass of the event loop, not in one of its own.

    Copies are equal and share everything. Safe to use from any thread, also while and after it is abandoned.
*/
class strand {
public:
    /// A template, or every copy would be tried as a conversion to the type-erased executor first.
    template <std::same_as<asio::any_io_executor> Executor>
    explicit strand(Executor inner) : state_(make_state(std::move(inner)))
    {
    }

    bool running_in_this_thread() const noexcept;

    /// What it runs on, never at once. What is posted there from the strand runs after all that is due in the event
    /// loop already. On the strand only.
    asio::any_io_executor const& inner() const noexcept;

    /// The execution context goes: destroys the functions that wait, and from now on each that comes; lets go of the
    /// inner executor. Who is handing a function to that on another thread is waited for.
    void abandon() noexcept;

    /// Refers to a strand without keeping it.
    class weak;

    /// A function for which memory was taken in advance: it can be run when there is none.
    class prepared;
    template <class F>
    prepared prepare(F f) const;
    void execute(prepared) const noexcept;

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
    strand require(asio::execution::blocking_t::possibly_t) const { return strand(state_, true); }
    strand require(asio::execution::blocking_t::never_t) const { return strand(state_, false); }
    friend bool operator==(strand const& a, strand const& b) noexcept
    {
        return a.state_ == b.state_ && a.may_block_ == b.may_block_;
    }

private:
    struct function {
        function* next = nullptr;
        void (*end)(function*, bool run);  ///< destroys it, and runs it if so wished
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
            allocator().deallocate(self, 1);  // first: what runs may use the memory again
            if (run)
                taken();
        }

        F f;
    };

    struct state;

    /// This thread runs the strand's functions for a while, if it is a thread of the inner executor and nobody else is
    /// at it.
    class shift {
    public:
        explicit shift(strand const&) noexcept;
        explicit shift(std::shared_ptr<state> claimed) noexcept;
        ~shift();
        shift(shift const&) = delete;
        explicit operator bool() const noexcept { return state_ != nullptr; }
        void finish();  ///< what has queued up meanwhile

    private:
        void claim(std::shared_ptr<state>) noexcept;

        std::shared_ptr<state> state_;  // a function may be the last that knows the strand
        state* outer_ = nullptr;
    };

    static std::shared_ptr<state> make_state(asio::any_io_executor inner);

    strand(std::shared_ptr<state> s, bool may_block) noexcept : state_(std::move(s)), may_block_(may_block) {}
    void push(function*) const;

    std::shared_ptr<state> state_;
    bool may_block_ = true;
};

class strand::weak {
public:
    explicit weak(strand const& s) noexcept : state_(s.state_) {}

    bool expired() const noexcept { return state_.expired(); }

    /// Abandons it if it is still there.
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
