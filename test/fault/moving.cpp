#include "fault/moving.hpp"

#include "support/as_future.hpp"
#include "bed/local_server.hpp"
#include "bed/process.hpp"
#include "bed/wait_until.hpp"

#include <redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace redlock::test {

namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using testbed::local_server;
using testbed::wait_until;

constexpr std::chrono::milliseconds longest_ttl = 1s;
constexpr std::size_t busy_names = 4, rare_names = 12;

std::string busy(std::size_t i) { return "busy/" + std::to_string(i); }

// Clients draw a token of each rare name under the old set, and then under the set after the next change.
std::string rare(std::size_t i) { return "rare/" + std::to_string(i); }

std::string counter_key(std::string const& name) { return fmt::format("lock:{0}:=fence:{{lock:{0}}}", name); }

/// The state of each lock, as its holders see it.
class holds {
public:
    /// The highest token of a completed acquisition.
    std::uint64_t highest(std::string const& name)
    {
        std::lock_guard const guard(mutex_);
        return names_[name].highest;
    }

    /// @param before  the result of @ref highest before the acquisition
    void enter(std::string const& name, lock const& held, std::uint64_t before)
    {
        std::lock_guard const guard(mutex_);
        auto& n = names_[name];
        auto const token = held.fencing_token();
        ++tokens;
        twice += !n.tokens.insert(token).second;
        falling += token <= before;
        two_holders += n.holder && n.holder->held() && held.held();
        n.highest = std::max(n.highest, token);
        n.holder = &held;
    }

    void leave(std::string const& name, lock const& held)
    {
        std::lock_guard const guard(mutex_);
        auto& n = names_[name];
        if (n.holder == &held)
            n.holder = nullptr;
    }

    std::uint64_t tokens = 0, twice = 0, falling = 0, two_holders = 0;

private:
    struct seen {
        std::uint64_t highest = 0;
        std::set<std::uint64_t> tokens{};
        lock const* holder = nullptr;
    };

    std::mutex mutex_;
    std::map<std::string, seen> names_;
};

/// A client that uses one set of nodes at a time.
struct client {
    std::shared_ptr<lock_manager> locks;  // used on the event loop
    std::atomic<std::uint64_t> done = 0;  ///< locks that the client has released
};

class moving {
public:
    explicit moving(soak_options const& o) : options_(o), random_(o.seed)
    {
        for (int i = 0; i < 3; ++i)
            set_.push_back(std::make_unique<local_server>());
        lift_counters();
        for (auto& c : clients_) {
            c.locks = std::make_shared<lock_manager>(context_, settings());
            asio::co_spawn(context_, work(c, random_()), [this](std::exception_ptr) { --working_; });
        }
        thread_ = std::thread([this] { context_.run(); });
    }

    ~moving()
    {
        if (thread_.joinable()) {
            context_.stop();
            thread_.join();
        }
    }

    int run()
    {
        auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(options_.seconds);
        unsigned cycles = 0;
        do {
            change_twice();
            ++cycles;
        } while (std::chrono::steady_clock::now() < end);
        finish();
        fmt::print("{} changes of the set of nodes, {} tokens: {} fell, {} were given twice; {} times two clients held "
                   "one lock\n",
                   2 * cycles, holds_.tokens, holds_.falling, holds_.twice, holds_.two_holders);
        bool const are_wrong = holds_.falling + holds_.twice > 0;
        return holds_.two_holders == 0 && are_wrong == options_.raise_early ? 0 : 1;
    }

private:
    // {a, b, c} becomes {a, b, c, d}, and then {b, c, d}.
    void change_twice()
    {
        std::ranges::shuffle(set_, random_);
        if (options_.raise_early)
            set_.push_back(copy_of_counters());
        draw_without(*set_[2]);

        auto const before = holds_.highest("long");
        auto long_hold = acquire(clients_[0], "long", {.ttl = longest_ttl, .wait = 30s, .renew = renewal::automatic});
        holds_.enter("long", long_hold, before);
        if (!options_.raise_early)
            set_.push_back(std::make_unique<local_server>());
        auto const first = urls(3), second = urls(4);
        move(clients_[1]);
        wait_until([&] { return votes(clients_[1], 3); }, "the new node does not vote");
        while_one_is_paused([&] {
            try_to_take_long(clients_[1]);
            move(clients_[2]);
            try_to_take_long(clients_[2]);
        });
        holds_.leave("long", long_hold);
        long_hold.async_release(test::as_future()).get();
        move(clients_[0]);
        raise_counters(first, second);
        std::this_thread::sleep_for(longest_ttl);  // the procedure demands it: locks of the old set have ended

        auto const leaves = std::move(set_.front());
        set_.erase(set_.begin());
        while_one_is_paused([&] {
            for (auto& c : clients_)
                move(c);
        });
        raise_counters(second, urls(3));
        draw_without(*set_[0]);
    }

    // Draws a token of each rare name, from the other nodes of the set.
    void draw_without(local_server& s)
    {
        s.pause();
        for (std::size_t i = 0; i < rare_names; ++i) {
            auto const before = holds_.highest(rare(i));
            auto held = acquire(clients_[i % clients_.size()], rare(i), {.ttl = longest_ttl, .wait = 30s});
            holds_.enter(rare(i), held, before);
            holds_.leave(rare(i), held);
            held.async_release(test::as_future()).get();
        }
        s.resume();
    }

    template <class Body>
    void while_one_is_paused(Body body)
    {
        auto& s = *set_[random_() % set_.size()];
        s.pause();
        body();
        wait_for_work();
        s.resume();
    }

    // Waits until each client has had some more locks.
    void wait_for_work()
    {
        for (auto& c : clients_) {
            auto const enough = c.done + 5;
            wait_until([&] { return c.done >= enough; }, "a client gets no locks any more");
        }
    }

    // A client of the old set holds the lock. @p c uses the new set.
    void try_to_take_long(client& c)
    {
        auto const before = holds_.highest("long");
        auto const [ec, held] = manager_of(c)->async_acquire("long", {.ttl = 300ms}, test::as_future()).get();
        if (ec)
            return;
        holds_.enter("long", held, before);
        holds_.leave("long", held);
    }

    lock acquire(client& c, std::string const& name, acquire_options const& o)
    {
        return manager_of(c)->async_acquire(name, o, asio::use_future).get();
    }

    std::shared_ptr<lock_manager> manager_of(client& c)
    {
        return asio::post(context_, asio::use_future([&] { return c.locks; })).get();
    }

    bool votes(client& c, std::size_t node)
    {
        auto const n = manager_of(c)->stats().nodes[node];
        return n.connected && n.quarantine == 0ms;
    }

    // The client uses the current set from its next lock on. When this returns, the client does not use the old set any
    // more.
    void move(client& c)
    {
        auto old = std::make_shared<lock_manager>(context_, settings());
        asio::post(context_, asio::use_future([&] { std::swap(old, c.locks); })).get();
        wait_until([&] { return old.use_count() == 1; }, "a client does not release its lock");
        end(std::move(old));
    }

    void end(std::shared_ptr<lock_manager> locks)
    {
        locks->async_shutdown(test::as_future()).get();  // a paused node keeps a key until its ttl has ended
        asio::post(context_, asio::use_future([gone = std::move(locks)]() mutable { gone.reset(); })).get();
    }

    asio::awaitable<void> work(client& c, std::uint64_t seed)
    {
        std::mt19937_64 random(seed);
        asio::steady_timer timer(co_await asio::this_coro::executor);
        while (!stop_) {
            auto const locks = c.locks;
            auto const name = busy(random() % busy_names);
            auto const before = holds_.highest(name);
            auto [ec, held] = co_await locks->async_acquire(name, {.ttl = longest_ttl, .wait = 1s},
                                                            asio::as_tuple(asio::use_awaitable));
            if (ec)
                continue;
            holds_.enter(name, held, before);
            timer.expires_after(std::chrono::microseconds(random() % 3000));
            co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
            holds_.leave(name, held);
            co_await held.async_release(asio::as_tuple(asio::use_awaitable));
            ++c.done;
        }
    }

    void finish()
    {
        stop_ = true;
        wait_until([&] { return working_ == 0; }, "a client does not end");
        for (auto& c : clients_)
            end(std::move(c.locks));
        work_.reset();
        thread_.join();
    }

    manager_options settings() const
    {
        return {.nodes = urls(set_.size()), .node_timeout = 100ms, .max_ttl = longest_ttl, .fencing = true};
    }

    std::vector<std::string> urls(std::size_t count) const
    {
        std::vector<std::string> all;
        for (std::size_t i = 0; i < count; ++i)
            all.push_back(set_[i]->url());
        return all;
    }

    static std::vector<std::string> all_names()
    {
        std::vector<std::string> all{"long"};
        for (std::size_t i = 0; i < busy_names; ++i)
            all.push_back(busy(i));
        for (std::size_t i = 0; i < rare_names; ++i)
            all.push_back(rare(i));
        return all;
    }

    void lift_counters()
    {
        auto const tomorrow = std::chrono::system_clock::now().time_since_epoch() + 24h;
        auto const counter = std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(tomorrow).count());
        for (auto const& name : all_names()) {
            for (auto const& s : set_)
                s->ask({"ZADD", counter_key(name), counter, "token"});
        }
    }

    // The earlier procedure: the counters of the new node are raised from a majority of the old nodes, before the
    // clients move.
    std::unique_ptr<local_server> copy_of_counters()
    {
        auto fresh = std::make_unique<local_server>();
        for (auto const& name : all_names()) {
            for (std::size_t i = 0; i < 2; ++i)
                fresh->ask(
                    {"ZADD", counter_key(name), "GT", set_[i]->ask({"ZSCORE", counter_key(name), "token"}), "token"});
        }
        return fresh;
    }

    void raise_counters(std::vector<std::string> const& from, std::vector<std::string> const& to)
    {
        if (options_.raise_early)
            return;
        auto const with_commas = [](std::vector<std::string> const& all) {
            return fmt::format("{}", fmt::join(all, ","));
        };
        testbed::process tool(
            {options_.moving, "nodes", "move", "--quiet", "--from", with_commas(from), "--to", with_commas(to)},
            {.piped = true});
        auto const said = tool.read();
        if (auto const ending = tool.wait(); ending.code() != 0)
            throw std::runtime_error(fmt::format("redlock nodes move {}: {}", ending.in_words(), said));
    }

    soak_options const& options_;
    std::mt19937_64 random_;
    std::vector<std::unique_ptr<local_server>> set_;  // the set that clients should use
    holds holds_;
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(context_);
    std::array<client, 3> clients_;
    std::atomic<std::size_t> working_ = clients_.size();
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

}  // namespace

int moving_set(soak_options const& o) { return moving(o).run(); }

}  // namespace redlock::test
