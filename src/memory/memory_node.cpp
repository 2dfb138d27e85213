#include <redlock/memory_node.hpp>

#include "core/key.hpp"
#include "core/validity.hpp"
#include "memory/lock_table.hpp"
#include "memory/memory_connection.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
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
    for (auto const& [key, entry] : std::exchange(state_->keys.entries, {}))
        state_->keys.tell(key);
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
    auto const expires = ttl.count() > 0 ? core::later(clock::now(), ttl) : clock::time_point::max();
    state_->keys.entries.insert_or_assign(std::string(key), detail::lock_table::entry{std::string(value), expires});
    state_->keys.tell(key);
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

    bool tells() const noexcept override { return ready(); }

    void listen(std::function<void(std::string_view)> changed) override { tell_of_change_ = std::move(changed); }

    void start(asio::any_io_executor executor) override { executor_ = std::move(executor); }

    void submit(std::shared_ptr<node_operation> o) override
    {
        arriving_.push_back(std::move(o));
        asio::post(executor_, [self = shared_from_this()] { self->send(); });
    }

    void close() override
    {
        auto const sent = std::exchange(sent_, {});
        auto const arriving = std::exchange(arriving_, {});
        for (auto& s : sent)
            s.operation->complete({.error = errc::node_closed});
        for (auto& o : arriving)
            o->complete({.untouched = true, .error = errc::node_closed});
        abandon();
    }

    void abandon() override
    {
        arriving_.clear();
        sent_.clear();
        timer_.reset();
        tell_of_change_ = {};
        std::lock_guard guard(server_->internals().mutex);
        executor_ = {};
    }

    // Called by whoever makes the node well again, perhaps on another thread, perhaps after we were closed.
    void resume()
    {
        std::unique_lock guard(server_->internals().mutex);
        auto const executor = executor_;
        guard.unlock();
        if (executor)
            asio::post(executor, [self = shared_from_this()] { self->carry_out(); });
    }

private:
    // Called by whoever changes the key, under the server's mutex; perhaps on another thread, perhaps after we were closed.
    void tell(std::string const& key)
    {
        if (!executor_)
            return;
        asio::post(executor_, [self = shared_from_this(), key] {
            if (self->tell_of_change_)
                self->tell_of_change_(key);
        });
    }

    struct sent {
        std::shared_ptr<node_operation> operation;
        clock::time_point arrives;
    };

    void send()
    {
        if (arriving_.empty())
            return;
        auto const o = std::move(arriving_.front());
        arriving_.pop_front();
        auto& s = server_->internals();
        std::unique_lock guard(s.mutex);
        auto const now = clock::now();
        if (o->withdrawn() || now > o->not_after || s.mood == memory_node::mood::unreachable) {
            guard.unlock();
            return o->complete({.untouched = true, .error = errc::node_unreachable});
        }
        o->mark_sent(1);
        // As on a connection: what was sent later does not arrive earlier.
        auto const arrives = core::later(now, s.delay);
        sent_.push_back({o, sent_.empty() ? arrives : std::max(arrives, sent_.back().arrives)});
        guard.unlock();
        if (!timer_ && !held_back_)
            carry_out();
    }

    // Carries out what has arrived, in its order, as long as the server is not hung.
    void carry_out()
    {
        auto& s = server_->internals();
        timer_.reset();
        held_back_ = false;
        while (!sent_.empty()) {
            std::unique_lock guard(s.mutex);
            if (s.mood == memory_node::mood::hung) {
                held_back_ = true;
                s.held_back.push_back([weak = weak_from_this()] {
                    if (auto self = weak.lock())
                        self->resume();
                });
                return;
            }
            auto const now = clock::now();
            if (auto const left = sent_.front().arrives - now; left > clock::duration::zero()) {
                timer_.emplace(executor_, left);
                timer_->async_wait([self = shared_from_this()](error_code ec) {
                    if (!ec)
                        self->carry_out();
                });
                return;
            }
            auto const o = std::move(sent_.front().operation);
            sent_.pop_front();
            auto reply = s.keys.carry_out(*o, now);
            if (o->watch && reply.vote == vote::denied) {
                reply.watched = true;
                s.keys.watch(reply.turn ? core::turn_key(o->key) : std::string(o->key), this, [weak = weak_from_this()](auto const& key) {
                    if (auto const self = weak.lock())
                        self->tell(key);
                });
            }
            if (s.mood == memory_node::mood::deaf)
                reply = {.error = errc::connection_lost};
            guard.unlock();
            o->complete(std::move(reply));
        }
    }

    std::string const name_;
    std::shared_ptr<memory_node> const server_;
    std::function<void(std::string_view)> tell_of_change_;
    asio::any_io_executor executor_;  // guarded by the server's mutex once started
    std::deque<std::shared_ptr<node_operation>> arriving_;  ///< to be sent in the next turn
    std::deque<sent> sent_;
    std::optional<asio::steady_timer> timer_;               ///< until the first of them arrives
    bool held_back_ = false;                                ///< by a hung server
};

}  // namespace

std::shared_ptr<node> make_memory_connection(std::string const& name)
{
    return std::make_shared<memory_connection>(name);
}

}  // namespace redlock
