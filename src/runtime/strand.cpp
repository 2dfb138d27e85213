#include "runtime/strand.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>

#include <cstddef>
#include <mutex>

namespace redlock::inline v1::runtime {

namespace {

// The number of functions that run in a row before other handlers of the same thread get their turn.
constexpr std::size_t turn_max = 256;
constexpr std::size_t turn_of_others = 4;  // one function of so many is not an urgent one

}  // namespace

struct strand::state : std::enable_shared_from_this<state> {
    explicit state(asio::any_io_executor executor)
        : inner(asio::require(std::move(executor), asio::execution::blocking.never)),
          loop(inner.target<asio::io_context::executor_type>()),
          context(asio::query(inner, asio::execution::context))
    {
    }

    ~state() { destroy_all(); }

    // @param for_sure If scheduling fails, the function stays in the queue, and the next function's run includes it.
    // Otherwise the function is destroyed and the exception is thrown.
    void push(function* f, bool is_urgent, bool for_sure)
    {
        std::unique_lock guard(mutex);
        if (gone) {
            guard.unlock();
            return f->end(f, false);
        }
        auto& l = is_urgent ? urgent : others;
        *l.last = f;
        auto** const before = std::exchange(l.last, &f->next);
        try {
            schedule();
        } catch (...) {
            if (for_sure)
                return;
            *before = nullptr;
            l.last = before;
            guard.unlock();
            f->end(f, false);
            throw;
        }
    }

    // The caller holds the mutex, so that the inner executor is not released meanwhile. `execute` never runs a function
    // inline.
    void schedule()
    {
        if (std::exchange(busy, true))
            return;
        try {
            inner.execute([self = shared_from_this()] { shift(self).finish(); });
        } catch (...) {
            busy = false;
            throw;
        }
    }

    void schedule_rest() noexcept
    {
        std::lock_guard guard(mutex);
        busy = false;
        if (gone || (!urgent.first && !others.first))
            return;
        try {
            schedule();
        } catch (...) {  // out of memory: the run of the next function includes the others
        }
    }

    function* pop() noexcept
    {
        std::lock_guard guard(mutex);
        bool const is_turn_of_others = ++turns % turn_of_others == 0 && others.first;
        auto& l = urgent.first && !is_turn_of_others ? urgent : others;
        auto* const f = l.first;
        if (!f) {
            busy = false;
            return nullptr;
        }
        l.first = f->next;
        if (!l.first)
            l.last = &l.first;
        return f;
    }

    void destroy_all() noexcept
    {
        while (auto* const f = pop())
            f->end(f, false);
    }

    bool claim() noexcept
    {
        std::lock_guard guard(mutex);
        // Only an event loop tells whether this is one of its threads. Other executors decide about inline calls
        // themselves.
        return !gone && loop && loop->running_in_this_thread() && !std::exchange(busy, true);
    }

    void abandon() noexcept
    {
        std::unique_lock guard(mutex);
        gone = true;
        loop = nullptr;
        auto const let_go = std::exchange(inner, {});
        guard.unlock();
        destroy_all();
    }

    static thread_local state* current;  ///< the strand whose functions this thread is running

    asio::any_io_executor inner;                  ///< guarded by the mutex, except on the strand
    asio::io_context::executor_type const* loop;  ///< set if the inner executor is a plain event loop
    asio::execution_context& context;
    std::mutex mutex;
    struct line {
        function* first = nullptr;
        function** last = &first;
    };
    line urgent, others;
    std::size_t turns = 0;
    bool busy = false;  ///< a run is scheduled or in progress
    bool gone = false;  ///< abandoned
};

thread_local strand::state* strand::state::current = nullptr;

strand::shift::shift(strand const& s) noexcept
{
    if (s.state_->claim())
        claim(s.state_);
}

strand::shift::shift(std::shared_ptr<state> claimed) noexcept { claim(std::move(claimed)); }

void strand::shift::claim(std::shared_ptr<state> s) noexcept
{
    state_ = std::move(s);
    outer_ = std::exchange(state::current, state_.get());
}

void strand::shift::finish()
{
    for (std::size_t i = 0; i < turn_max; ++i) {
        auto* const f = state_->pop();
        if (!f) {
            state::current = outer_;
            state_.reset();
            return;
        }
        f->end(f, true);
    }
}

// If a function threw, the other functions still run.
strand::shift::~shift()
{
    if (!state_)
        return;
    state::current = outer_;
    state_->schedule_rest();
}

std::shared_ptr<strand::state> strand::make_state(asio::any_io_executor inner)
{
    return std::make_shared<state>(std::move(inner));
}

bool strand::running_in_this_thread() const noexcept { return state::current == state_.get(); }

asio::any_io_executor const& strand::inner() const noexcept { return state_->inner; }

void strand::abandon() noexcept { state_->abandon(); }

void strand::weak::abandon() const noexcept
{
    if (auto const s = state_.lock())
        s->abandon();
}

asio::execution_context& strand::query(asio::execution::context_t) const noexcept { return state_->context; }

void strand::push(function* f) const { state_->push(f, is_urgent_, false); }

// A prepared function needs no memory. NOLINTNEXTLINE(bugprone-exception-escape)
void strand::execute(prepared p) const noexcept { state_->push(std::exchange(p.f_, nullptr), is_urgent_, true); }

}  // namespace redlock::runtime
