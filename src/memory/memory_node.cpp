#include <redlock/memory_node.hpp>

#include "memory/lock_table.hpp"
#include "memory/memory_connection.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace redlock {

struct memory_node::state {
    mutable std::mutex mutex;
    detail::lock_table keys;
    memory_node::mood mood = memory_node::mood::well;
    std::chrono::milliseconds delay{0};
    std::deque<std::function<void()>> held_back;  // what a hung node has not carried out yet
};

memory_node::memory_node() : state_(std::make_unique<state>()) {}

memory_node::~memory_node() = default;

std::shared_ptr<memory_node> memory_node::at(std::string_view name)
{
    static std::mutex mutex;
    static std::map<std::string, std::weak_ptr<memory_node>, std::less<>> nodes;
    std::lock_guard guard(mutex);
    std::erase_if(nodes, [](auto& named) { return named.second.expired(); });
    auto& known = nodes[std::string(name)];
    auto n = known.lock();
    if (!n)
        known = n = std::make_shared<memory_node>();
    return n;
}

void memory_node::set_mood(mood m)
{
    std::deque<std::function<void()>> due;
    {
        std::lock_guard guard(state_->mutex);
        state_->mood = m;
        if (m != mood::hung)
            due = std::exchange(state_->held_back, {});
    }
    for (auto& carry_out : due)
        carry_out();
}

void memory_node::set_delay(std::chrono::milliseconds delay)
{
    std::lock_guard guard(state_->mutex);
    state_->delay = delay;
}

void memory_node::clear()
{
    std::lock_guard guard(state_->mutex);
    state_->keys.entries.clear();
}

std::size_t memory_node::size() const
{
    std::lock_guard guard(state_->mutex);
    std::erase_if(state_->keys.entries, [now = clock::now()](auto& e) { return e.second.expires <= now; });
    return state_->keys.entries.size();
}

std::optional<std::string> memory_node::value(std::string_view key) const
{
    std::lock_guard guard(state_->mutex);
    auto const* e = state_->keys.find(key, clock::now());
    return e ? std::optional(e->value) : std::nullopt;
}

void memory_node::set(std::string_view key, std::string_view value, std::chrono::milliseconds ttl)
{
    std::lock_guard guard(state_->mutex);
    auto const expires = ttl.count() > 0 ? clock::now() + ttl : clock::time_point::max();
    state_->keys.entries.insert_or_assign(std::string(key), detail::lock_table::entry{std::string(value), expires});
}

namespace {

class memory_connection final : public node, public std::enable_shared_from_this<memory_connection> {
public:
    explicit memory_connection(std::string const& name) : name_("memory://" + name), server_(memory_node::at(name)) {}

    std::string const& name() const noexcept override { return name_; }

    bool ready() const noexcept override
    {
        auto& s = server_->internals();
        std::lock_guard guard(s.mutex);
        return s.mood != memory_node::mood::unreachable;
    }

    void start(asio::any_io_executor executor) override { executor_ = std::move(executor); }

    void submit(std::shared_ptr<node_operation> o) override
    {
        auto const number = ++last_number_;
        pending_.emplace(number, o);
        asio::post(executor_, [self = shared_from_this(), number] { self->send(number); });
    }

    void close() override
    {
        for (auto& [number, o] : std::exchange(pending_, {}))
            o->complete({.untouched = o->sent_on() == 0, .error = errc::node_closed});
        for (auto& [number, timer] : std::exchange(timers_, {}))
            timer->cancel();
        std::lock_guard guard(server_->internals().mutex);
        executor_ = {};
    }

    void abandon() override
    {
        pending_.clear();
        timers_.clear();
        std::lock_guard guard(server_->internals().mutex);
        executor_ = {};
    }

    // Called by whoever makes the node well again, perhaps on another thread, perhaps after we were closed.
    void resume(std::uint64_t number)
    {
        std::unique_lock guard(server_->internals().mutex);
        auto const executor = executor_;
        guard.unlock();
        if (executor)
            asio::post(executor, [self = shared_from_this(), number] { self->carry_out(number); });
    }

private:
    void send(std::uint64_t number)
    {
        auto const it = pending_.find(number);
        if (it == pending_.end())
            return;
        auto& o = *it->second;
        auto& s = server_->internals();
        std::unique_lock guard(s.mutex);
        if (o.withdrawn() || clock::now() > o.not_after || s.mood == memory_node::mood::unreachable) {
            guard.unlock();
            return answer(number, {.untouched = true, .error = errc::node_unreachable});
        }
        o.mark_sent(1);
        if (s.mood == memory_node::mood::hung) {
            s.held_back.push_back([weak = weak_from_this(), number] {
                if (auto self = weak.lock())
                    self->resume(number);
            });
            return;
        }
        auto const delay = s.delay;
        guard.unlock();
        if (delay.count() == 0)
            return carry_out(number);
        auto timer = std::make_shared<asio::steady_timer>(executor_, delay);
        timers_.emplace(number, timer);
        timer->async_wait([self = shared_from_this(), number](error_code) {
            self->timers_.erase(number);
            self->carry_out(number);
        });
    }

    void carry_out(std::uint64_t number)
    {
        auto const it = pending_.find(number);
        if (it == pending_.end())
            return;
        auto& s = server_->internals();
        std::unique_lock guard(s.mutex);
        auto reply = s.keys.carry_out(*it->second, clock::now());
        bool const deaf = s.mood == memory_node::mood::deaf;
        guard.unlock();
        if (deaf)
            reply = {.error = errc::connection_lost};
        answer(number, std::move(reply));
    }

    void answer(std::uint64_t number, node_reply reply)
    {
        auto const it = pending_.find(number);
        auto const o = std::move(it->second);
        pending_.erase(it);
        o->complete(std::move(reply));
    }

    std::string const name_;
    std::shared_ptr<memory_node> const server_;
    asio::any_io_executor executor_;  // guarded by the server's mutex once started
    std::uint64_t last_number_ = 0;
    std::map<std::uint64_t, std::shared_ptr<node_operation>> pending_;
    std::map<std::uint64_t, std::shared_ptr<asio::steady_timer>> timers_;
};

}  // namespace

std::shared_ptr<node> make_memory_connection(std::string const& name)
{
    return std::make_shared<memory_connection>(name);
}

}  // namespace redlock
