#include "strand.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace redlock::detail {

namespace {

// So many functions run in one go before others on the same thread get their turn.
constexpr std::size_t turn_max = 256;

}  // namespace

struct strand::state : std::enable_shared_from_this<state> {
    explicit state(asio::any_io_executor executor)
        : inner(std::move(executor)),
          inner_never(asio::require(inner, asio::execution::blocking.never)),
          loop(inner.target<asio::io_context::executor_type>()),
          context(asio::query(inner, asio::execution::context))
    {
    }

    ~state() { destroy_all(); }

    void push(function* f, bool may_block)
    {
        if (!inner)
            return f->end(f, false);
        {
            std::lock_guard guard(mutex);
            *last = f;
            last = &f->next;
            if (std::exchange(busy, true))
                return;
        }
        schedule(may_block ? inner : inner_never);
    }

    void schedule(asio::any_io_executor const& on)
    {
        auto const before = begun;
        try {
            on.execute([self = shared_from_this()] {
                ++begun;
                turn(self).finish();
            });
        } catch (...) {
            if (begun == before) {  // out of memory: the next function brings the others along
                std::lock_guard guard(mutex);
                busy = false;
            }
            throw;  // else a function that ran at once has thrown, and its turn has seen to the others
        }
    }

    function* pop() noexcept
    {
        std::lock_guard guard(mutex);
        auto* const f = first;
        if (!f) {
            busy = false;
            return nullptr;
        }
        first = f->next;
        if (!first)
            last = &first;
        return f;
    }

    void destroy_all() noexcept
    {
        while (auto* const f = pop())
            f->end(f, false);
    }

    static thread_local state* current;        ///< whose functions this thread is running
    static thread_local std::uint64_t begun;  ///< the turns that were scheduled and have begun on this thread

    asio::any_io_executor inner;
    asio::any_io_executor inner_never;
    asio::io_context::executor_type const* loop;  ///< the inner executor if it is a plain event loop's
    asio::execution_context& context;
    std::mutex mutex;
    function* first = nullptr;
    function** last = &first;
    bool busy = false;  ///< a run is scheduled or under way
};

thread_local strand::state* strand::state::current = nullptr;
thread_local std::uint64_t strand::state::begun = 0;

strand::turn::turn(strand const& s) noexcept
{
    // Whether this is a thread of the inner executor is known of an event loop; any other decides by itself.
    auto& st = *s.state_;
    if (!st.loop || !st.loop->running_in_this_thread())
        return;
    std::lock_guard guard(st.mutex);
    if (!std::exchange(st.busy, true))
        claim(s.state_);
}

strand::turn::turn(std::shared_ptr<state> claimed) noexcept
{
    claim(std::move(claimed));
}

void strand::turn::claim(std::shared_ptr<state> s) noexcept
{
    state_ = std::move(s);
    outer_ = std::exchange(state::current, state_.get());
}

void strand::turn::finish()
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

// However a function has ended, the others have their turn.
strand::turn::~turn() noexcept(false)
{
    if (!state_)
        return;
    state::current = outer_;
    state_->schedule(state_->inner_never);
}

std::shared_ptr<strand::state> strand::make_state(asio::any_io_executor inner)
{
    return std::make_shared<state>(std::move(inner));
}

bool strand::running_in_this_thread() const noexcept
{
    return state::current == state_.get();
}

asio::any_io_executor const& strand::inner() const noexcept
{
    return state_->inner;
}

void strand::abandon() noexcept
{
    state_->destroy_all();
    state_->loop = nullptr;
    state_->inner = {};
    state_->inner_never = {};
}

asio::execution_context& strand::query(asio::execution::context_t) const noexcept
{
    return state_->context;
}

void strand::push(function* f) const
{
    state_->push(f, may_block_);
}

}  // namespace redlock::detail
