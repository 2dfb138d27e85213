// A whole node, for a store that can do more than a plain store. Here the store is a table in this process.

#include <redlock.hpp>
#include <redlock/testing/node_suite.hpp>

#include <boost/asio.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using redlock::node_command;
using redlock::node_operation;
using redlock::node_reply;
using redlock::vote;

//[table
// The store: the holder and the end of each lock. Each call is atomic, and reads the store's own clock.
class lock_table {
public:
    node_reply carry_out(node_command const& c)
    {
        if (c.which() == node_command::kind::connect)
            return {.vote = vote::granted};
        std::lock_guard guard(mutex_);
        auto const now = redlock::clock::now();
        auto row = rows_.find(c.key());
        if (row != rows_.end() && row->second.expires <= now)
            row = (rows_.erase(row), rows_.end());
        bool const taken = row != rows_.end();
        bool const ours = taken && row->second.value == c.value;
        switch (c.which()) {
        case node_command::kind::acquire:
            if (!taken)
                rows_[c.key()] = {std::string(c.value), now + c.ttl};
            return {.vote = taken ? vote::denied : vote::granted};
        case node_command::kind::extend:
            if (ours)
                row->second.expires = std::max(row->second.expires, now + c.ttl);  // never shorten
            return {.vote = ours ? vote::granted : vote::denied};
        case node_command::kind::release:
            if (ours)
                rows_.erase(row);
            return {.vote = ours ? vote::granted : vote::denied};
        case node_command::kind::inspect:
            if (!taken)
                return {.vote = vote::denied};
            return {.vote = vote::granted,
                    .text = row->second.value,
                    .remaining = std::chrono::ceil<std::chrono::milliseconds>(row->second.expires - now)};
        default:  // a scan; `can` refuses the other commands
            return {.error = redlock::errc::unsupported};
        }
    }

private:
    struct entry {
        std::string value;
        redlock::clock::time_point expires;
    };
    std::mutex mutex_;
    std::map<std::string, entry> rows_;
};
//]

//[node
class table_node final : public redlock::node, public std::enable_shared_from_this<table_node> {
public:
    explicit table_node(std::string name) : name_("table://" + name), table_(the_table(name)) {}

    std::string const& name() const noexcept override { return name_; }
    bool ready() const noexcept override { return open_; }

    // This node draws no tokens, locks one key at a time, and has no shared locks.
    bool can(node_command const& c) const noexcept override { return c.fence() == 0 && node::can(c); }

    void start(asio::any_io_executor executor, redlock::node_events events) override
    {
        executor_ = std::move(executor);
        events_ = std::move(events);
        asio::post(executor_, [self = shared_from_this()] {
            if (self->open_)
                self->events_.connected({});  // the identity of a store that never loses data
        });
    }

    void submit(std::shared_ptr<node_operation> operation) override
    {
        waiting_.push_back(std::move(operation));
        asio::post(executor_, [self = shared_from_this()] { self->send(); });
    }

    void close() override
    {
        for (auto const& o : std::exchange(waiting_, {}))
            o->complete({.untouched = true, .error = redlock::errc::node_closed});
        abandon();
    }

    void abandon() override
    {
        open_ = false;
        waiting_.clear();
        events_ = {};
        executor_ = {};
    }

private:
    static std::shared_ptr<lock_table> the_table(std::string const& name)
    {
        static std::mutex mutex;
        static std::map<std::string, std::shared_ptr<lock_table>> all;
        std::lock_guard guard(mutex);
        auto& t = all[name];
        return t ? t : t = std::make_shared<lock_table>();
    }

    void send()
    {
        if (waiting_.empty())
            return;
        auto const o = std::move(waiting_.front());
        waiting_.pop_front();
        if (o->withdrawn() || redlock::clock::now() > o->not_after)
            return o->complete({.untouched = true, .error = redlock::errc::node_unreachable});
        o->mark_sent(1);  // call it before the command can have an effect
        o->complete(table_->carry_out(o->command()));
    }

    std::string const name_;
    std::shared_ptr<lock_table> const table_;
    asio::any_io_executor executor_;
    redlock::node_events events_;
    std::deque<std::shared_ptr<node_operation>> waiting_;
    std::atomic<bool> open_ = true;
};
//]

//[store
redlock::store tables()
{
    return {.schemes = {"table"},
            .make = [](std::string_view url, redlock::manager_options const&, redlock::store_context const&) {
                return std::make_shared<table_node>(std::string(url.substr(url.find("://") + 3)));
            }};
}
//]

//[suite
int failures_of(redlock::testing::node_kind const& kind)
{
    int failures = 0;
    for (auto const& c : redlock::testing::node_cases()) {
        if (!c.concerns(kind))
            continue;
        try {
            c.run(kind);
        } catch (std::exception const& e) {
            std::cout << c.name << ": " << e.what() << '\n';
            ++failures;
        }
    }
    return failures;
}
//]

int main()
{
    //[run_suite
    auto const failures = failures_of({.make = [] { return std::make_shared<table_node>("suite"); },
                                       .fences = false,
                                       .heals = false,
                                       .contends = false,
                                       .locks_several = false,
                                       .locks_any = false,
                                       .shares = false,
                                       .replaces = false});
    //]

    asio::io_context context;
    //[use
    redlock::lock_manager locks(context, {.nodes = {"table://a", "memory://b", "memory://c"}, .stores = {tables()}});
    //]
    bool held = false;
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            co_await locks.with_lock("stock", {.ttl = 5s}, [&](redlock::lock& l) -> asio::awaitable<void> {
                held = l.held();
                co_return;
            });
            co_await locks.async_shutdown();
        },
        asio::detached);
    context.run();
    std::cout << (failures == 0 && held ? "a node among others\n" : "something is wrong\n");
    return failures == 0 && held ? 0 : 1;
}
