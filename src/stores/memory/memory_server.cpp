#include <redlock/memory_server.hpp>
#include <redlock/testing.hpp>

#include "core/key.hpp"
#include "core/validity.hpp"
#include "stores/memory/lock_table.hpp"
#include "stores/memory/memory_connection.hpp"

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

namespace redlock::inline v1 {

struct memory_server::state {
    mutable std::mutex mutex;
    stores::memory::lock_table keys;
    std::shared_ptr<testing::manual_clock> clock;  // empty: the system's clock
    memory_server::fault fault = memory_server::fault::none;
    std::uint32_t connection = 1;  // all connections have this number until a restart increases it
    server_identity identity;
    std::chrono::milliseconds delay{0};
    std::deque<std::function<void()>> held_back;  // work that waits for a hung server

    redlock::clock::time_point now() const { return clock ? clock->now() : redlock::clock::now(); }

    void forget_locks()
    {
        for (auto const& [key, entry] : std::exchange(keys.entries, {}))
            keys.tell(key);
    }
};

memory_server::memory_server() : state_(std::make_unique<state>()) {}

memory_server::~memory_server() = default;

std::shared_ptr<memory_server> memory_server::at(std::string_view name)
{
    static std::mutex mutex;
    static std::map<std::string, std::weak_ptr<memory_server>, std::less<>> nodes;
    std::lock_guard guard(mutex);
    std::erase_if(nodes, [](auto& named) { return named.second.expired(); });
    auto& known = nodes[std::string(name)];
    auto n = known.lock();
    if (!n)
        known = n = std::make_shared<memory_server>();
    return n;
}

void memory_server::set_fault(fault f)
{
    std::deque<std::function<void()>> due;
    {
        std::lock_guard guard(state_->mutex);
        state_->fault = f;
        if (f != fault::hung)
            due = std::exchange(state_->held_back, {});
    }
    for (auto& carry_out : due)
        carry_out();
}

void memory_server::set_delay(std::chrono::milliseconds delay)
{
    std::lock_guard guard(state_->mutex);
    state_->delay = delay;
}

void memory_server::set_session(std::chrono::milliseconds session)
{
    std::lock_guard guard(state_->mutex);
    state_->keys.session = session;
}

void memory_server::clear()
{
    std::lock_guard guard(state_->mutex);
    state_->forget_locks();
}

void memory_server::restart()
{
    std::lock_guard guard(state_->mutex);
    state_->forget_locks();
    state_->keys.counters.clear();
    state_->keys.tombstones.clear();
    state_->keys.wanted.clear();
    state_->keys.readers.clear();
    state_->keys.handovers.clear();
    state_->keys.places.clear();
    ++state_->connection;
    state_->identity = {.durable = false, .restarted = true, .began = state_->now()};
}

void memory_server::erase(std::string_view key)
{
    std::lock_guard guard(state_->mutex);
    if (auto const e = state_->keys.entries.find(key); e != state_->keys.entries.end()) {
        state_->keys.entries.erase(e);
        state_->keys.tell(key);
    }
}

std::size_t memory_server::size() const
{
    std::lock_guard guard(state_->mutex);
    std::erase_if(state_->keys.entries, [now = state_->now()](auto& e) { return e.second.expires <= now; });
    return state_->keys.entries.size();
}

std::optional<std::string> memory_server::value(std::string_view key) const
{
    std::lock_guard guard(state_->mutex);
    auto const* e = state_->keys.find(key, state_->now());
    return e ? std::optional(e->value) : std::nullopt;
}

void memory_server::set(std::string_view key, std::string_view value, std::chrono::milliseconds ttl)
{
    std::lock_guard guard(state_->mutex);
    auto const expires = ttl.count() > 0 ? core::later(state_->now(), ttl) : clock::time_point::max();
    state_->keys.entries.insert_or_assign(std::string(key),
                                          stores::memory::lock_table::entry{std::string(value), expires});
    state_->keys.tell(key);
}

}  // namespace redlock

namespace redlock::stores::memory {

namespace {

class memory_connection final : public node, public std::enable_shared_from_this<memory_connection> {
public:
    memory_connection(std::string const& name, std::shared_ptr<testing::manual_clock> clock)
        : name_("memory://" + name), server_(memory_server::at(name)), clock_(std::move(clock))
    {
        std::lock_guard guard(server_->internals().mutex);
        server_->internals().clock = clock_;
    }

    ~memory_connection() override { stop_timer(); }

    std::string const& name() const noexcept override { return name_; }

    bool ready() const noexcept override
    {
        auto& s = server_->internals();
        std::lock_guard guard(s.mutex);
        return !closed_ && s.fault != memory_server::fault::unreachable;
    }

    bool notifies() const noexcept override { return ready(); }
    bool can(node_command const&) const noexcept override { return true; }

    void start(asio::any_io_executor executor, node_events events) override
    {
        executor_ = std::move(executor);
        events_ = std::move(events);
    }

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
        stop_timer();
        events_ = {};
        std::lock_guard guard(server_->internals().mutex);
        closed_ = true;
        executor_ = {};
    }

    // Called when the server is not hung any more, or when an operation arrives on a test's clock. The call may come on
    // another thread, or after close().
    void resume()
    {
        std::unique_lock guard(server_->internals().mutex);
        auto const executor = executor_;
        guard.unlock();
        if (executor)
            asio::post(executor, [self = shared_from_this()] { self->carry_out(); });
    }

private:
    // Called under the server's mutex when the key changes: perhaps on another thread, and perhaps after close().
    void tell(std::string const& key)
    {
        if (!executor_)
            return;
        asio::post(executor_, [self = shared_from_this(), key] {
            if (self->events_.changed)
                self->events_.changed(key);
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
        auto const now = this->now();
        if (o->withdrawn() || now > o->not_after || s.fault == memory_server::fault::unreachable) {
            guard.unlock();
            return o->complete({.untouched = true, .error = errc::node_unreachable});
        }
        auto const is_new = std::exchange(connection_, s.connection) != s.connection ? std::optional(s.identity)
                                                                                     : std::nullopt;
        o->mark_sent(s.connection);
        // As on a connection, operations arrive in the order of sending.
        auto const arrives = core::later(now, s.delay);
        sent_.push_back({o, sent_.empty() ? arrives : std::max(arrives, sent_.back().arrives)});
        guard.unlock();
        if (is_new)
            events_.connected(*is_new);
        if (!due_ && !timer_ && !held_back_)
            carry_out();
    }

    // Executes operations that have arrived, in their order, unless the server is hung.
    void carry_out()
    {
        auto& s = server_->internals();
        stop_timer();
        held_back_ = false;
        while (!sent_.empty()) {
            std::unique_lock guard(s.mutex);
            if (s.fault == memory_server::fault::hung) {
                held_back_ = true;
                s.held_back.push_back([weak = weak_from_this()] {
                    if (auto self = weak.lock())
                        self->resume();
                });
                return;
            }
            auto const now = this->now();
            if (sent_.front().arrives > now)
                return wake_at(sent_.front().arrives);
            auto const o = std::move(sent_.front().operation);
            sent_.pop_front();
            if (o->sent_on() != s.connection) {  // the server has restarted
                guard.unlock();
                o->complete({.error = errc::connection_lost});
                continue;
            }
            auto const& c = o->command();
            auto reply = s.keys.carry_out(c, now, o->leaves_tombstone(s.connection), this);
            if (c.watches() && (reply.vote == vote::denied || c.which() == node_command::kind::inspect)) {
                reply.watched = true;
                s.keys.watch_taken(c, reply, this, [weak = weak_from_this()](auto const& key) {
                    if (auto const self = weak.lock())
                        self->tell(key);
                });
            }
            if (s.fault == memory_server::fault::mute)
                reply = {.error = errc::connection_lost};
            guard.unlock();
            o->complete(std::move(reply));
        }
    }

    clock::time_point now() const { return clock_ ? clock_->now() : clock::now(); }

    void wake_at(clock::time_point when)
    {
        if (clock_) {
            due_ = clock_->at(when, [weak = weak_from_this()] {
                if (auto const self = weak.lock())
                    self->resume();
            });
            return;
        }
        timer_.emplace(executor_, when - now());
        timer_->async_wait([self = shared_from_this()](error_code ec) {
            if (!ec)
                self->carry_out();
        });
    }

    void stop_timer()
    {
        timer_.reset();
        if (due_)
            clock_->forget(*std::exchange(due_, std::nullopt));
    }

    std::string const name_;
    std::shared_ptr<memory_server> const server_;
    std::shared_ptr<testing::manual_clock> const clock_;
    node_events events_;
    std::uint32_t connection_ = 0;    // the last one that was used
    asio::any_io_executor executor_;  // guarded by the server's mutex once started, like closed_
    bool closed_ = false;
    std::deque<std::shared_ptr<node_operation>> arriving_;  ///< to be sent in the next pass of the event loop
    std::deque<sent> sent_;
    std::optional<asio::steady_timer> timer_;          ///< arrival of the next operation, on the system's clock
    std::optional<testing::manual_clock::event> due_;  ///< arrival of the next operation, on a test's clock
    bool held_back_ = false;                           ///< the server is hung, and will call resume()
};

}  // namespace

std::shared_ptr<node> make_memory_connection(std::string const& name, std::shared_ptr<testing::manual_clock> clock)
{
    return std::make_shared<memory_connection>(name, std::move(clock));
}

}  // namespace redlock::stores::memory
