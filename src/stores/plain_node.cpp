#include <redlock/error.hpp>
#include <redlock/plain_store.hpp>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

namespace redlock::inline v1 {

plain_store::~plain_store() = default;

asio::awaitable<bool> plain_store::compare_and_extend(std::string, std::string, std::chrono::milliseconds)
{
    throw system_error(make_error_code(errc::unsupported), "compare_and_extend");
    co_return false;
}

asio::awaitable<std::optional<plain_store::entry>> plain_store::read(std::string)
{
    throw system_error(make_error_code(errc::unsupported), "read");
    co_return std::nullopt;
}

namespace {

// The arguments of one call of the store. The operation may end first.
struct question {
    node_command::kind what;
    std::string key, value;
    std::chrono::milliseconds ttl;
};

bool asks_store(node_command::kind what) noexcept
{
    using kind = node_command::kind;
    return what == kind::acquire || what == kind::extend || what == kind::release || what == kind::inspect;
}

// A function of the store may throw at once, if it is no coroutine. Therefore it is called from within this one.
asio::awaitable<node_reply> answer_of(std::shared_ptr<plain_store> store, question q)
{
    if (q.what == node_command::kind::inspect) {
        auto there = co_await store->read(std::move(q.key));
        node_reply r{.vote = there ? vote::granted : vote::denied};
        if (there) {
            r.text = std::move(there->value);
            r.remaining = there->remaining;
        }
        co_return r;
    }
    bool done = false;
    if (q.what == node_command::kind::acquire)
        done = co_await store->set_if_absent(std::move(q.key), std::move(q.value), q.ttl);
    else if (q.what == node_command::kind::extend)
        done = co_await store->compare_and_extend(std::move(q.key), std::move(q.value), q.ttl);
    else
        done = co_await store->compare_and_delete(std::move(q.key), std::move(q.value));
    co_return node_reply{.vote = done ? vote::granted : vote::denied};
}

node_reply failure(std::exception_ptr const& why)
{
    try {
        std::rethrow_exception(why);
    } catch (system_error const& e) {
        bool const untouched = e.code() == errc::node_unreachable || e.code() == errc::unsupported;
        return {.untouched = untouched, .error = e.code(), .text = e.what()};
    } catch (std::exception const& e) {
        return {.error = errc::unexpected_reply, .text = e.what()};
    } catch (...) {
        return {.error = errc::unexpected_reply, .text = "the store threw an exception of an unknown type"};
    }
}

class plain_node final : public node, public std::enable_shared_from_this<plain_node> {
public:
    plain_node(std::string name, std::shared_ptr<plain_store> store, plain_node_options const& options)
        : name_(std::move(name)), store_(std::move(store)), options_(options)
    {
    }

    std::string const& name() const noexcept override { return name_; }
    bool ready() const noexcept override { return open_; }
    node_limits limits() const override { return {.timeout = options_.timeout}; }
    bool can(node_command const& c) const noexcept override { return c.fence() == 0 && node::can(c); }

    void start(asio::any_io_executor executor, node_events events) override
    {
        executor_ = std::move(executor);
        events_ = std::move(events);
    }

    void submit(std::shared_ptr<node_operation> o) override
    {
        auto const& keys = o->command().keys;
        std::string const key = keys.empty() ? std::string() : keys.front();
        auto& line = lines_[key];
        line.waiting.push_back(std::move(o));
        if (line.waiting.size() == 1 && !line.under_way)
            go_on_later(key);
    }

    void close() override
    {
        auto const lines = take_all();
        for (auto const& [key, line] : lines) {
            if (line.under_way)
                line.under_way->operation->complete({.error = errc::node_closed});
            for (auto const& o : line.waiting)
                o->complete({.untouched = true, .error = errc::node_closed});
        }
        for (auto const& [key, line] : lines) {
            if (line.under_way)
                line.under_way->cancel.emit(asio::cancellation_type::terminal);
        }
    }

    void abandon() override { take_all(); }

private:
    using timer = asio::basic_waitable_timer<clock, asio::wait_traits<clock>, asio::any_io_executor>;

    // A function of the store that has been called. It may end after the node has given it up.
    struct call {
        std::shared_ptr<plain_node> node;  ///< null: nobody waits for the answer any more
        std::shared_ptr<node_operation> operation;
        std::string key;
        std::optional<timer> limit;
        asio::cancellation_signal cancel;
    };

    // The operations on one key, which are carried out one after the other.
    struct key_line {
        std::shared_ptr<call> under_way;
        std::deque<std::shared_ptr<node_operation>> waiting;
    };

    // The node is closed or abandoned.
    std::map<std::string, key_line> take_all()
    {
        open_ = false;
        events_ = {};
        executor_ = {};
        auto lines = std::exchange(lines_, {});
        for (auto const& [key, line] : lines) {
            if (line.under_way) {
                line.under_way->node = nullptr;
                line.under_way->limit.reset();
            }
        }
        return lines;
    }

    void go_on_later(std::string key)
    {
        asio::post(executor_, [self = shared_from_this(), key = std::move(key)] { self->go_on(key); });
    }

    void go_on(std::string const& key)
    {
        if (open_ && events_.connected && !std::exchange(is_connected_, true))
            events_.connected(options_.identity);
        for (;;) {
            auto const at = lines_.find(key);
            if (at == lines_.end() || at->second.under_way)
                return;
            if (at->second.waiting.empty()) {
                lines_.erase(at);
                return;
            }
            auto const o = std::move(at->second.waiting.front());
            at->second.waiting.pop_front();
            if (o->withdrawn() || clock::now() > o->not_after)
                o->complete({.untouched = true, .error = errc::node_unreachable});
            else if (asks_store(o->command().which()))
                return begin(at->second, o, key);
            else
                o->complete(answer_to(o->command()));
        }
    }

    static node_reply answer_to(node_command const& c)
    {
        switch (c.which()) {
        case node_command::kind::connect:
        case node_command::kind::found:     // the store keeps no record of its memory
        case node_command::kind::withdraw:  // the store remembers no contenders
            return {.vote = vote::granted};
        default:
            return {.untouched = true, .error = errc::unsupported};
        }
    }

    void begin(key_line& of, std::shared_ptr<node_operation> const& o, std::string const& key)
    {
        auto const& command = o->command();
        auto const c = std::make_shared<call>();
        c->node = shared_from_this();
        c->operation = o;
        c->key = key;
        c->limit.emplace(executor_, options_.timeout);
        c->limit->async_wait([weak = std::weak_ptr(c)](error_code ec) {
            if (auto const late = weak.lock(); late && !ec)
                give_up(*late);
        });
        of.under_way = c;
        o->mark_sent(connection_);
        question q{command.which(), key, std::string(command.value), command.ttl};
        asio::co_spawn(executor_, answer_of(store_, std::move(q)),
                       asio::bind_cancellation_slot(c->cancel.slot(), [c](std::exception_ptr e, node_reply r) {
                           answered(*c, e ? failure(e) : std::move(r));
                       }));
    }

    static void give_up(call& c)
    {
        answered(c, {.error = errc::node_timeout});
        c.cancel.emit(asio::cancellation_type::terminal);
    }

    static void answered(call& c, node_reply r)
    {
        auto const self = std::exchange(c.node, nullptr);
        if (!self)
            return;
        c.limit.reset();
        // The store may still carry out the call, in any order with later ones: these have another connection.
        if (r.vote == vote::unknown && !r.untouched)
            ++self->connection_;
        self->lines_[c.key].under_way = nullptr;
        std::exchange(c.operation, nullptr)->complete(std::move(r));
        if (self->open_)
            self->go_on_later(c.key);
    }

    std::string const name_;
    std::shared_ptr<plain_store> const store_;
    plain_node_options const options_;
    asio::any_io_executor executor_;
    node_events events_;
    std::map<std::string, key_line> lines_;  ///< by key
    std::uint32_t connection_ = 1;
    std::atomic<bool> open_ = true;
    bool is_connected_ = false;
};

}  // namespace

std::shared_ptr<node> make_plain_node(std::string name, std::shared_ptr<plain_store> store, plain_node_options options)
{
    using namespace std::chrono_literals;
    if (name.empty())
        throw std::invalid_argument("redlock::make_plain_node: the name is empty");
    if (!store)
        throw std::invalid_argument("redlock::make_plain_node: there is no store");
    if (options.timeout < 1ms || options.timeout > 1min)
        throw std::invalid_argument("redlock::make_plain_node: the timeout must be 1 ms to a minute");
    return std::make_shared<plain_node>(std::move(name), std::move(store), options);
}

}  // namespace redlock
