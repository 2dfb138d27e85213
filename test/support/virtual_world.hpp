#pragma once

#include "core/key.hpp"
#include "locks/manager_state.hpp"
#include "runtime/runtime.hpp"
#include "stores/memory/lock_table.hpp"

#include <redlock.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <vector>

namespace redlock::test {

using namespace std::chrono_literals;

/// Virtual time that moves only when no handler is ready. A test of ten seconds takes no real time, and is
/// deterministic.
class virtual_world {
public:
    asio::io_context context;
    clock::time_point now{std::chrono::hours(1)};
    std::uint64_t wall_clock = 0;       ///< time of day of the clients, in microseconds
    std::function<void()> each_step;    ///< called after each step
    int random_until = -1;              ///< number of calls until random numbers fail; -1: they never fail
    bool computing_takes_time = false;  ///< handlers take 1/4 of their processor time, with sanitizers 1/40

    using event = std::pair<clock::time_point, std::uint64_t>;  ///< time and sequence number

    event at(clock::time_point when, std::function<void()> what)
    {
        event const e(std::max(when, now), ++last_event_);
        events_.emplace(e, std::move(what));
        return e;
    }

    void forget(event const& e) { events_.erase(e); }

    /// Runs handlers and events up to @p end.
    void run_until(clock::time_point end)
    {
        for (;;) {
            handle();
            if (events_.empty() || events_.begin()->first.first > end)
                break;
            step();
        }
        now = std::max(now, end);
    }

    void run_for(clock::duration d) { run_until(now + d); }

    /// Pauses the process for @p d: events happen, but no handler runs.
    void stall_for(clock::duration d)
    {
        auto const end = now + d;
        while (!events_.empty() && events_.begin()->first.first <= end)
            step();
        now = end;
    }

    /// Runs until @p done returns true. @return false after a virtual day
    template <class Condition>
    bool run_to(Condition done)
    {
        auto const end = now + std::chrono::hours(24);
        for (;;) {
            handle();
            if (done())
                return true;
            if (events_.empty() || events_.begin()->first.first > end)
                return false;
            step();
        }
    }

private:
    void step()
    {
        auto first = events_.extract(events_.begin());
        now = std::max(now, first.key().first);
        first.mapped()();
    }

    void handle()
    {
        context.restart();
        if (computing_takes_time)
            compute();
        else
            context.poll();
        if (each_step)
            each_step();
    }

    // After each handler, the events that have become due happen at once.
    void compute()
    {
        for (bool any = true; any;) {
            auto const begun = processor_time();
            any = context.poll_one() > 0;
            now += processor_time() - begun;
            for (; !events_.empty() && events_.begin()->first.first <= now; any = true)
                step();
        }
    }

    static clock::duration processor_time()
    {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        constexpr int slower = 40;
#else
        constexpr int slower = 4;  // a busy machine is four times slower; the defects to be found are far slower
#endif
        std::timespec t{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec)) / slower;
    }

    std::map<event, std::function<void()>> events_;
    std::uint64_t last_event_ = 0;
};

class virtual_runtime final : public runtime::runtime {
public:
    explicit virtual_runtime(virtual_world& world)
        : runtime(redlock::runtime::strand(asio::any_io_executor(world.context.get_executor()))), world_(world)
    {
    }

    std::uint64_t wall_clock() const noexcept override { return world_.wall_clock; }

    std::array<std::uint64_t, 2> random() override
    {
        if (world_.random_until == 0)
            throw std::system_error(EIO, std::generic_category());
        if (world_.random_until > 0)
            --world_.random_until;
        auto const next = [] {  // splitmix64
            auto z = seed_ += 0x9e3779b97f4a7c15;
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
            z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
            return z ^ (z >> 31);
        };
        return {next(), next()};
    }

private:
    clock::time_point read_clock() const noexcept override { return world_.now; }

    void wake_at(clock::time_point at, std::function<void()> ring) override
    {
        forget_call();
        alarm_ = world_.at(at, [on = urgent(), ring = std::move(ring)] { asio::post(on, ring); });
    }

    void forget_call() override { world_.forget(alarm_); }

    void drop_references() override {}  // the world destroys its events

    virtual_world& world_;
    virtual_world::event alarm_;
    static inline thread_local std::uint64_t seed_ = 0;
};

/// A lock server in virtual time whose behaviour the test sets.
class scripted_server : public stores::memory::lock_table {
public:
    explicit scripted_server(virtual_world& world) : world_(world) {}

    /// A request that has arrived.
    struct request {
        node_command::kind what;
        std::string key;
        std::string value;
        clock::time_point when;
        std::uint64_t fence;
        std::size_t keys;
    };

    clock::duration request_delay = 100us;  ///< from sending a request to carrying it out
    clock::duration reply_delay = 100us;    ///< from carrying it out to the arrival of the reply
    clock::duration work{0};                ///< to carry out a request: one after another
    clock::duration reading_time{0};        ///< from the arrival of the reply to its handler
    bool reachable = true;                  ///< false: the node sends no requests
    bool connecting = false;                ///< requests wait while it is true
    int denied_questions = 0;               ///< so often it does not say again that it is new
    bool mute = false;                      ///< it carries out requests, but its replies are lost
    bool hung = false;                      ///< it carries out requests only when this is false again
    std::uint64_t counts_by = 0;            ///< added to its counter with each grant
    std::uint32_t names_beyond = 0;         ///< any one of several: added to the index of the chosen key
    bool draws_tokens = true;               ///< false: its replies have no token
    bool fences = true;                     ///< false: node::can refuses fencing
    bool locks_several = true;              ///< false: node::can refuses several keys
    bool locks_any = true;                  ///< false: node::can refuses any one of several keys
    bool shares = true;                     ///< false: node::can refuses shared locks
    bool upgrades = true;                   ///< false: node::can refuses upgrades
    bool replaces = true;                   ///< false: node::can refuses replacements
    bool notifies = true;                   ///< it notifies of changes to watched keys
    bool tells_line = true;                 ///< false: its replies do not say who comes first
    error_code refusal;                     ///< if set, the answer to each request, which is not carried out
    bool sends_again = false;               ///< the node sends refused requests again, behind later ones
    std::uint32_t connection = 1;
    std::uint32_t ended = 0;  ///< requests of connections up to this one are no longer carried out
    server_identity identity;
    node_limits limits;  ///< set them before the manager is made

    std::vector<request> requests;

    /// When a request is carried out that arrives at @p when.
    clock::time_point turn_of_request_at(clock::time_point when)
    {
        return work == 0ms ? when : free_at_ = std::max(free_at_, when) + work;
    }

    /// Breaks the connections: requests under way arrive, but their replies are lost. Later requests use a new
    /// connection.
    void break_connections()
    {
        ++connection;
        for (auto const& b : breakers)
            b();
    }
    std::vector<std::function<void()>> breakers;

    /// Notifies all clients of a change of @p key, even without a watch.
    void push(std::string const& key)
    {
        for (auto const& l : listeners)
            l(key);
    }
    std::vector<std::function<void(std::string const&)>> listeners;

    /// The server is new to the prefix from @p since on. A manager may found it.
    void be_new(clock::time_point since) { identity = {.durable = false, .fresh = true, .began = since}; }

    /// A manager founds the server.
    void be_founded()
    {
        identity.fresh = false;
        identity.founded = true;
        tell_identity();
    }

    /// A manager knows that the set is not new.
    void note_old_set()
    {
        if (std::exchange(identity.fresh, false))
            tell_identity();
    }

    /// Tells all clients what is known about the server from now on.
    void tell_identity()
    {
        for (auto const& l : learners)
            l();
    }
    std::vector<std::function<void()>> learners;

    /// Restarts the server without its data.
    void restart()
    {
        entries.clear();
        counters.clear();
        tombstones.clear();
        ++connection;
        identity = {.durable = false, .restarted = true, .began = world_.now};
    }

    entry* find(std::string const& key) { return stores::memory::lock_table::find(key, world_.now); }

    std::size_t count(node_command::kind what) const
    {
        return static_cast<std::size_t>(
            std::count_if(requests.begin(), requests.end(), [&](auto& r) { return r.what == what; }));
    }

    node_reply carry_out(node_command const& c, bool tombstone, void const* who = nullptr)
    {
        if (c.which() == node_command::kind::found && c.as<commands::found>().only_asks
            && std::exchange(denied_questions, std::max(denied_questions - 1, 0)) > 0)
            return {.vote = vote::denied};
        if (c.which() == node_command::kind::found && c.as<commands::found>().only_asks)
            return {.vote = identity.durable || is_new() ? vote::granted : vote::denied};
        requests.push_back({c.which(), c.keys.empty() ? std::string() : c.key(), std::string(c.value), world_.now,
                            c.fence(), c.keys.size()});
        if (refusal)
            return {.untouched = true, .error = refusal};
        if (c.which() == node_command::kind::found && !identity.durable)
            return found();
        auto r = stores::memory::lock_table::carry_out(c, world_.now, tombstone, who);
        if (counts_by != 0 && c.which() == node_command::kind::acquire && !c.is_shared() && r.vote == vote::granted
            && c.fence() != 0)
            r.fence = counters[c.key()] += counts_by;
        r.chosen += names_beyond;
        if (!draws_tokens)
            r.fence = 0;
        if (!tells_line) {
            r.ahead = 0;
            r.stands_by = false;
        }
        return r;
    }

private:
    bool is_new() const { return identity.fresh && !identity.restarted; }

    node_reply found()
    {
        if (identity.restarted)
            return {.vote = vote::denied};
        be_founded();
        return {.vote = vote::granted};
    }

    virtual_world& world_;
    clock::time_point free_at_;
};

class scripted_node final : public node, public std::enable_shared_from_this<scripted_node> {
public:
    scripted_node(virtual_world& world, scripted_server& server, std::string name, clock::duration distance = {})
        : world_(world), server_(server), name_(std::move(name)), distance_(distance)
    {
    }

    std::string const& name() const noexcept override { return name_; }
    bool ready() const noexcept override { return server_.reachable; }
    bool can(node_command const& c) const noexcept override
    {
        return (c.fence() == 0 || server_.fences)
               && (!c.has_several_keys() || (c.wants_any() ? server_.locks_any : server_.locks_several))
               && (!c.is_shared() || server_.shares) && (c.which() != node_command::kind::upgrade || server_.upgrades)
               && (c.which() != node_command::kind::replace || server_.replaces);
    }
    node_limits limits() const override { return server_.limits; }
    bool notifies() const noexcept override { return server_.reachable && server_.notifies; }
    bool may_still_execute(std::uint32_t connection) const override
    {
        return connection > server_.ended && connection < server_.connection;
    }
    void start(asio::any_io_executor executor, node_events events) override
    {
        events_ = std::move(events);
        executor_ = std::move(executor);
        server_.listeners.push_back([weak = weak_from_this()](std::string const& key) {
            if (auto const self = weak.lock())
                self->tell(key);
        });
        server_.learners.push_back([weak = weak_from_this()] {
            auto const self = weak.lock();
            if (self && !self->closed_)
                asio::post(self->executor_, [self] { self->learn(); });
        });
        server_.breakers.push_back([weak = weak_from_this()] {
            auto const self = weak.lock();
            if (!self || self->closed_)
                return;
            for (auto const& o : std::list(self->pending_)) {
                if (o->sent_on() != 0)
                    self->answer(o, failed(errc::connection_lost, false));
            }
            for (auto& [key, list] : self->server_.watchers)
                std::erase_if(list, [&](auto& w) { return w.first == self.get(); });
            self->tell({});  // any key may have changed: notifications are lost
        });
    }

    void submit(std::shared_ptr<node_operation> o) override
    {
        where_[o.get()] = pending_.insert(pending_.end(), o);
        asio::post(executor_, [self = shared_from_this(), o] { self->send(o); });
    }

    void note_old_set() override
    {
        asio::post(executor_, [self = shared_from_this()] { self->server_.note_old_set(); });
    }

    void close() override
    {
        closed_ = true;
        where_.clear();
        for (auto const& o : std::exchange(pending_, {}))
            o->complete(failed(errc::node_closed, o->sent_on() == 0));
        executor_ = {};
    }

    void abandon() override
    {
        closed_ = true;
        where_.clear();
        pending_.clear();
        backlog_.clear();
        executor_ = {};
    }

private:
    static node_reply failed(errc why, bool untouched) { return {.untouched = untouched, .error = why}; }

    void send(std::shared_ptr<node_operation> const& o)
    {
        if (closed_)
            return;
        if (server_.connecting && server_.reachable && !o->withdrawn() && world_.now <= o->not_after) {
            world_.at(world_.now + 1ms, [self = shared_from_this(), o] {
                if (!self->closed_)
                    asio::post(self->executor_, [self, o] { self->send(o); });
            });
            return;
        }
        if (!server_.reachable || o->withdrawn() || world_.now > o->not_after)
            return answer(o, failed(errc::node_unreachable, true));
        if (std::exchange(connection_, server_.connection) != server_.connection)
            events_.connected(server_.identity);
        o->mark_sent(server_.connection);
        world_.at(server_.turn_of_request_at(world_.now + server_.request_delay + distance_),
                  [self = shared_from_this(), o, on = server_.connection] {
                      if (on > self->server_.ended)
                          self->arrive(o);
                  });
    }

    // A hung server carries out requests in their order when it is no longer hung.
    void arrive(std::shared_ptr<node_operation> const& o)
    {
        bool const waiting = !backlog_.empty();
        if (!waiting && !server_.hung)
            return carry_out(o);
        backlog_.push_back(o);
        if (!waiting)
            world_.at(world_.now + 1ms, [self = shared_from_this()] { self->catch_up(); });
    }

    void catch_up()
    {
        if (server_.hung) {
            if (!closed_)
                world_.at(world_.now + 1ms, [self = shared_from_this()] { self->catch_up(); });
            return;
        }
        for (auto const& o : std::exchange(backlog_, {}))
            carry_out(o);
    }

    void carry_out(std::shared_ptr<node_operation> const& o)
    {
        auto const& c = o->command();
        auto reply = server_.carry_out(c, o->leaves_tombstone(o->sent_on()), this);
        bool const is_denied = c.contends() && reply.vote == vote::denied;  // a plain SET cannot watch
        if (c.watches() && (is_denied || c.which() == node_command::kind::inspect) && server_.notifies) {
            reply.watched = true;
            server_.watch_taken(c, reply, this, [weak = weak_from_this()](auto const& key) {
                if (auto const self = weak.lock(); self && !self->server_.mute)
                    self->world_.at(self->world_.now + self->server_.reply_delay + self->distance_,
                                    [self, key] { self->tell(key); });
            });
        }
        if (server_.mute)
            return;
        world_.at(world_.now + server_.reply_delay + distance_, [self = shared_from_this(), o, reply] {
            if (!self->closed_)
                asio::post(self->executor_, [self, o, reply] { self->read(o, reply); });
        });
    }

    void learn()
    {
        if (!closed_ && connection_ == server_.connection)
            events_.learned(server_.identity);
    }

    void tell(std::string const& key)
    {
        if (closed_)
            return;
        asio::post(executor_, [self = shared_from_this(), key] {
            if (!self->closed_)
                self->events_.changed(key);
        });
    }

    void read(std::shared_ptr<node_operation> const& o, node_reply const& reply)
    {
        if (reply.untouched && server_.sends_again)
            return send(o);
        if (o->command().which() == node_command::kind::found)
            learn();
        if (server_.reading_time == 0ms)
            return answer(o, reply);
        world_.at(world_.now + server_.reading_time, [self = shared_from_this(), o, reply] { self->answer(o, reply); });
    }

    void answer(std::shared_ptr<node_operation> const& o, node_reply reply)
    {
        auto const known = where_.extract(o.get());
        if (!known)
            return;
        pending_.erase(known.mapped());
        o->complete(std::move(reply));
    }

    virtual_world& world_;
    scripted_server& server_;
    std::string const name_;
    clock::duration const distance_;
    node_events events_;
    std::uint32_t connection_ = 0;  // the last used one
    asio::any_io_executor executor_;
    std::list<std::shared_ptr<node_operation>> pending_;
    std::unordered_map<node_operation const*, std::list<std::shared_ptr<node_operation>>::iterator> where_;
    std::vector<std::shared_ptr<node_operation>> backlog_;
    bool closed_ = false;
};

/// Several scripted servers, and managers that use them.
class server_world : public virtual_world {
public:
    explicit server_world(std::size_t count)
    {
        for (std::size_t i = 0; i < count; ++i)
            servers.push_back(std::make_unique<scripted_server>(*this));
    }

    /// @param distances one-way delays from this manager to each server, added to the servers' delays
    std::unique_ptr<lock_manager> manager(manager_options settings = {},
                                          std::vector<clock::duration> const& distances = {})
    {
        std::vector<std::shared_ptr<node>> nodes;
        for (std::size_t i = 0; i < servers.size(); ++i) {
            nodes.push_back(std::make_shared<scripted_node>(*this, *servers[i], "server-" + std::to_string(i),
                                                            i < distances.size() ? distances[i] : clock::duration(0)));
            settings.nodes.push_back(nodes.back()->name());
        }
        auto runtime = std::make_shared<virtual_runtime>(*this);
        auto state = locks::manager_state::make(context.get_executor(), std::move(runtime), std::move(settings),
                                                std::move(nodes));
        return std::make_unique<lock_manager>(detail::access::make_manager<lock_manager>(state));
    }

    scripted_server& operator[](std::size_t i) { return *servers[i]; }

    template <class Change>
    void each(Change change)
    {
        for (auto& s : servers)
            change(*s);
    }

    /// The number of servers for which @p is returns true.
    template <class Is>
    std::size_t count(Is is)
    {
        return static_cast<std::size_t>(std::count_if(servers.begin(), servers.end(), [&](auto& s) { return is(*s); }));
    }

    /// The number of servers on which @p key is set and has not expired.
    std::size_t keys(std::string const& key)
    {
        return count([&](auto& s) { return s.find(key) != nullptr; });
    }

    /// Like keys, after @p d.
    std::size_t keys_after(clock::duration d, std::string const& key = "lock:stock")
    {
        run_for(d);
        return keys(key);
    }

    /// The number of servers on which @p key has @p value and has not expired.
    std::size_t held_by(std::string const& key, std::string_view value)
    {
        return count([&](auto& s) {
            auto const* const e = s.find(key);
            return e && e->value == value;
        });
    }

    /// The outcome of an acquisition.
    struct outcome {
        outcome() = default;
        template <class Begin>
        explicit outcome(Begin begin)
        {
            begin(*this);
        }

        bool done = false;
        int calls = 0;
        error_code ec;
        lock held;
        clock::time_point when;
        attempt_report report;  ///< if it was asked for, as functions that wait for the outcome do
    };

    /// Waits for the outcome. @return whether it holds the lock
    bool wins(outcome& o)
    {
        run_to([&] { return o.done; });
        return o.held.held();
    }

    /// Waits for the outcome.
    error_code end_of(outcome& o)
    {
        run_to([&] { return o.done; });
        return o.ec;
    }

    std::function<void(error_code, lock)> into(outcome& o)
    {
        return [&o, this](error_code ec, lock l) {
            o.done = true;
            ++o.calls;
            o.ec = ec;
            if (auto const r = l.report())
                o.report = *r;
            o.held = std::move(l);
            o.when = now;
        };
    }

    /// Whether @p o holds the lock after @p d.
    bool held_after(clock::duration d, outcome const& o)
    {
        run_for(d);
        return o.held.held();
    }

    /// Whether an outcome or another operation is done after @p d.
    template <class Operation>
    bool done_after(clock::duration d, Operation const& o)
    {
        run_for(d);
        return o.done;
    }

    std::vector<std::unique_ptr<scripted_server>> servers;
};

/// A server_world with the calls of clients. An acquisition has an `outcome`; another operation is a `call`.
class lock_world : public server_world {
public:
    using server_world::server_world;

    /// A manager that is connected to all servers, so that its next request does not wait for a connection.
    std::unique_ptr<lock_manager> connected(manager_options settings = {})
    {
        auto locks = manager(std::move(settings));
        acquire(*locks, "warm-up");
        run_for(1ms);
        return locks;
    }

    /// Starts an operation by @p begin with these options, and waits for its outcome.
    template <class Begin>
    outcome outcome_of(acquire_options options, Begin begin)
    {
        outcome o;
        options.explain = true;
        begin(o, options);
        run_to([&] { return o.done; });
        return o;
    }

    /// Acquires @p resources, and waits for the outcome.
    outcome acquire(lock_manager& locks, resource_set resources, acquire_options options = {})
    {
        return outcome_of(options, [&](auto& o, auto how) { start_acquire(o, locks, std::move(resources), how); });
    }

    /// Acquires any one of @p resources, and waits for the outcome.
    outcome acquire_any(lock_manager& locks, resource_set resources, acquire_options options = {})
    {
        return outcome_of(options, [&](auto& o, auto how) { start_acquire_any(o, locks, std::move(resources), how); });
    }

    /// Starts an acquisition without waiting. The outcome must live until the acquisition is done.
    outcome start(lock_manager& locks, resource_set resources, acquire_options options = {},
                  asio::cancellation_slot slot = {})
    {
        return outcome([&](auto& o) { start_acquire(o, locks, std::move(resources), options, slot); });
    }

    /// Starts @p count acquisitions of the same resources.
    std::deque<outcome> start_many(std::size_t count, lock_manager& locks, resource_set const& resources,
                                   acquire_options options)
    {
        std::deque<outcome> all(count);
        for (auto& o : all)
            start_acquire(o, locks, resources, options);
        return all;
    }

    /// Starts acquisitions of "r0", "r1" and so on.
    std::deque<outcome> start_numbered(std::size_t count, lock_manager& locks, acquire_options options)
    {
        std::deque<outcome> all(count);
        for (std::size_t i = 0; i < count; ++i)
            start_acquire(all[i], locks, "r" + std::to_string(i), options);
        return all;
    }

    void start_acquire(outcome& o, lock_manager& locks, resource_set resources, acquire_options options,
                       asio::cancellation_slot slot = {})
    {
        locks.async_acquire(std::move(resources), options, asio::bind_cancellation_slot(slot, into(o)));
    }

    void start_acquire_any(outcome& o, lock_manager& locks, resource_set resources, acquire_options options,
                           asio::cancellation_slot slot = {})
    {
        locks.async_acquire_any(std::move(resources), options, asio::bind_cancellation_slot(slot, into(o)));
    }

    /// A call on a lock or a manager, and the error that its handler gets.
    struct call {
        template <class Start>
        call(lock_world& world, asio::cancellation_slot slot, Start start) : w(world)
        {
            start(asio::bind_cancellation_slot(slot, [this](error_code code) {
                ++calls;
                ec = code;
                when = w.now;
            }));
        }

        /// Waits for its end.
        error_code end()
        {
            w.run_to([&] { return ec.has_value(); });
            return ec.value_or(error_code());
        }

        lock_world& w;
        int calls = 0;
        std::optional<error_code> ec;  ///< none until the call has completed
        clock::time_point when;
    };

    call start_extend(lock& l, std::chrono::milliseconds ttl, asio::cancellation_slot slot = {})
    {
        return {*this, slot, [&](auto done) { l.async_extend(ttl, std::move(done)); }};
    }

    call start_upgrade(lock& l, std::chrono::milliseconds wait = {}, asio::cancellation_slot slot = {})
    {
        return {*this, slot, [&](auto done) { l.async_upgrade(wait, std::move(done)); }};
    }

    call start_downgrade(lock& l, asio::cancellation_slot slot = {})
    {
        return {*this, slot, [&](auto done) { l.async_downgrade(std::move(done)); }};
    }

    call start_wait_lost(lock& l, asio::cancellation_slot slot = {})
    {
        return {*this, slot, [&](auto done) { l.async_wait_lost(std::move(done)); }};
    }

    /// Keys that are left are an error.
    call start_shutdown(lock_manager& m, asio::cancellation_slot slot = {})
    {
        return {*this, slot, [&](auto done) { m.async_shutdown({.keys_left_is_error = true}, std::move(done)); }};
    }

    error_code release(lock& l)
    {
        return call(*this, {}, [&](auto done) { l.async_release(std::move(done)); }).end();
    }
    error_code extend(lock& l, std::chrono::milliseconds ttl) { return start_extend(l, ttl).end(); }
    error_code upgrade(lock& l, std::chrono::milliseconds wait = {}) { return start_upgrade(l, wait).end(); }
    error_code downgrade(lock& l) { return start_downgrade(l).end(); }
    error_code shutdown(lock_manager& m) { return start_shutdown(m).end(); }

    /// Releases the lock, which must succeed, and runs for @p d.
    void release(outcome& o, clock::duration d)
    {
        if (auto const ec = release(o.held))
            throw system_error(ec, "release");
        run_for(d);
    }

    /// Destroys the handle, and runs for @p d.
    void drop(outcome& o, clock::duration d)
    {
        o.held = {};
        run_for(d);
    }
};

/// The message of the exception for these settings; "accepted" if there is none.
inline std::string refusal(manager_options settings)
{
    asio::io_context context;
    try {
        lock_manager locks(context, std::move(settings));
    } catch (std::invalid_argument const& e) {
        return e.what();
    }
    return "accepted";
}

/// A fixture: servers, and a manager that is not connected to them yet.
template <std::size_t Servers>
struct manager_of {
    explicit manager_of(manager_options const& settings = {}) : locks(w.manager(settings)) {}

    lock_world w{Servers};
    std::unique_ptr<lock_manager> locks;
};

/// A fixture: servers, and a manager that is connected to all of them.
template <std::size_t Servers>
struct connected_to {
    explicit connected_to(manager_options const& settings = {}) : locks(w.connected(settings)) {}

    lock_world w{Servers};
    std::unique_ptr<lock_manager> locks;
};

/// Adds another manager to a fixture, which stands for another process.
template <class First>
struct and_another : First {
    using First::First;

    std::unique_ptr<lock_manager> other = this->w.manager();
};

/// The code of a system_error; none for no exception.
inline error_code code_of(std::exception_ptr const& failure)
{
    try {
        if (failure)
            std::rethrow_exception(failure);
    } catch (system_error const& e) {
        return e.code();
    }
    return {};
}

}  // namespace redlock::test
