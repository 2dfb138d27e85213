#include "tools/demo/buyers.hpp"

#include "tools/demo/reports.hpp"
#include "runtime/as_result.hpp"

#include <redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace redlock::demo {

namespace {

using namespace std::chrono_literals;
using asio::awaitable;
using steady = std::chrono::steady_clock;
using order = std::vector<std::size_t>;  // the numbers of its items

/// Increments a counter, and decrements it in the destructor.
class presence {
public:
    explicit presence(shop::number& n) : number_(n) { ++number_; }
    ~presence() { --number_; }
    presence(presence const&) = delete;
    presence& operator=(presence const&) = delete;

private:
    shop::number& number_;
};

class buyers_process {
public:
    buyers_process(shop& s, crowd const& c) : shop_(s), crowd_(c)
    {
        if (!crowd_.nodes.empty())
            locks_.emplace(context_,
                           manager_options{.nodes = crowd_.nodes, .stores = crowd_.stores, .owner = "redlock_demo"});
    }

    void run()
    {
        asio::co_spawn(context_, all(), [this](std::exception_ptr e) { end(e); });
        // run() would wait for the timers of buyers who are at home when the shop closes.
        while (!ended_)
            context_.run_one();
        if (failure_)
            std::rethrow_exception(failure_);
    }

private:
    awaitable<void> all()
    {
        ++shop_.ready;
        while (!shop_.open)
            co_await pause(1ms);
        opened_ = steady::now();
        for (std::size_t i = 0; i < crowd_.buyers; ++i)
            asio::co_spawn(context_, buyer(i), [this](std::exception_ptr e) { leave(e); });
        for (std::size_t i = 0; i < crowd_.accountants; ++i)
            asio::co_spawn(context_, accountant(), [this](std::exception_ptr e) {
                if (e)
                    end(e);
            });
        while (left_ < crowd_.buyers && !shop_.closed)
            co_await pause(2ms);
        while (trying_ > 0)
            co_await pause(2ms);
        // Locks that cannot be released now expire after their ttl.
        if (locks_)
            co_await locks_->async_shutdown(runtime::as_result);
    }

    awaitable<void> buyer(std::size_t number)
    {
        auto arrival = opened_ + crowd_.first_arrival + crowd_.arrival_interval * number;
        do {
            asio::steady_timer way(context_, arrival);
            co_await way.async_wait(asio::use_awaitable);
            co_await visit();
            arrival += crowd_.arrival_interval * crowd_.buyers;
        } while (crowd_.come_again && !shop_.closed);
    }

    /// Tries until the buyer is served or sent away, or the shop closes.
    awaitable<void> visit()
    {
        presence const waiting(shop_.waiting);
        auto const o = choose();
        auto const came = steady::now();
        ++trying_;
        bool done = false;
        while (!done && !shop_.closed) {
            try {
                co_await buy(o, came);
                done = true;
            } catch (system_error const& e) {
                count(e.code());  // then try again; count() throws an unexpected error, which ends the process
            }
        }
        --trying_;
    }

    awaitable<void> accountant()
    {
        while (!shop_.closed) {
            co_await pause(20ms);
            ++trying_;
            try {
                co_await report(shop_, *locks_, crowd_.lock);
            } catch (system_error const& e) {
                count(e.code());
            }
            --trying_;
        }
    }

    order choose()
    {
        order all(shop_.kinds);
        std::iota(all.begin(), all.end(), 0);
        std::shuffle(all.begin(), all.end(), random_);
        all.resize(std::uniform_int_distribution(crowd_.fewest_items, crowd_.most_items)(random_));
        return all;
    }

    awaitable<void> buy(order const& o, steady::time_point came)
    {
        if (!locks_)
            co_return co_await sell(o, nullptr);
        std::vector<std::string> names;
        for (auto const i : o)
            names.push_back(lock_name(shop_.items[i]));
        auto body = [&](lock& held) {
            note_wait(o, steady::now() - came);
            return sell(o, &held);
        };
        co_await locks_->with_lock(names, crowd_.lock, body);
    }

    /// Reads each stock and writes it back a little later. Without a lock, this loses updates of other buyers.
    awaitable<void> sell(order const& o, lock const* held)
    {
        presence const paying(shop_.paying);
        std::vector<std::int64_t> left;
        for (auto const i : o)
            left.push_back(shop_.items[i].stock);
        bool const gone = std::count(left.begin(), left.end(), 0) > 0;
        for (std::size_t k = 0; k < o.size(); ++k) {
            auto& item = shop_.items[o[k]];
            if (!gone) {
                co_await database_answers(held);
                item.stock = left[k] - 1;
                ++item.sold;
            } else if (left[k] == 0 && crowd_.reorder > 0) {
                co_await database_answers(held);
                item.stock = crowd_.reorder;
                item.delivered += crowd_.reorder;
            }
        }
        ++(gone ? shop_.sent_away : shop_.by_size.at(o.size()).sold);
    }

    awaitable<void> database_answers(lock const* held)
    {
        do
            co_await pause(database_answer_time());
        while (shop_.database_hangs);

        // If this process was paused meanwhile, the lock may be lost, and the stock that was read may be outdated.
        if (held && !held->held())
            throw system_error(errc::lost);
    }

    void note_wait(order const& o, std::chrono::nanoseconds waited)
    {
        auto& longest = shop_.by_size.at(o.size()).longest_wait;
        auto const us = std::chrono::duration_cast<std::chrono::microseconds>(waited).count();
        for (auto so_far = longest.load(); so_far < us && !longest.compare_exchange_weak(so_far, us);) {
        }
    }

    /// Draws a time between 50 % and 150 % of `database_time`, because the answer times of databases vary.
    std::chrono::microseconds database_answer_time()
    {
        auto const usual = crowd_.database_time.count();
        return std::chrono::microseconds(std::uniform_int_distribution(usual / 2, usual * 3 / 2)(random_));
    }

    void count(error_code ec)
    {
        if (ec == errc::no_quorum || ec == errc::quarantined)
            ++shop_.no_quorum;
        else if (ec == errc::contended)
            ++shop_.contended;
        else if (ec == errc::validity_exhausted)
            ++shop_.validity_exhausted;
        else if (ec == errc::lost)
            ++shop_.lost;
        else
            throw system_error(ec);
    }

    awaitable<void> pause(std::chrono::microseconds duration)
    {
        asio::steady_timer timer(context_, duration);
        co_await timer.async_wait(asio::use_awaitable);
    }

    void leave(std::exception_ptr e)
    {
        ++left_;
        if (e)
            end(e);
    }

    void end(std::exception_ptr e)
    {
        ended_ = true;
        if (!failure_)
            failure_ = e;
    }

    shop& shop_;
    crowd const& crowd_;
    asio::io_context context_{1};
    std::optional<lock_manager> locks_;
    std::minstd_rand random_{std::random_device()()};
    steady::time_point opened_;
    std::size_t left_ = 0;    // buyers who will not come again
    std::size_t trying_ = 0;  // visits and reports that are under way; the process waits for them
    bool ended_ = false;
    std::exception_ptr failure_;
};

}  // namespace

void run_buyers(shop& s, crowd const& c) { buyers_process(s, c).run(); }

}  // namespace redlock::demo
