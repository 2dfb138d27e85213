#pragma once

#include "lock_times.hpp"
#include "nodes.hpp"
#include "stock.hpp"

#include <redlock.hpp>
#include <redlock/beast.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shop {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using request = http::request<http::string_body>;
using response = http::response<http::string_body>;

struct settings {
    redlock::config locks;
    std::string database;
    std::vector<item> goods;                          ///< of a new database
    std::chrono::milliseconds ttl{2000};              ///< of a lock; it is renewed while the order is worked at
    std::chrono::milliseconds request_timeout{5000};  ///< at most, whatever the client asks for
    std::chrono::milliseconds work{0};  ///< what an order takes beside the database, so that there is something to see
    std::size_t connections_max = 4096;
    bool unguarded = false;  ///< without locks, to compare
};

/** The shop without its network: each request becomes a response.

    @par Thread safety
    Safe on shared objects: connections call it from all threads.
*/
class shop {
public:
    /// @param own the lock servers that the page may stop and kill; null: there are none
    shop(asio::any_io_executor, settings const&, nodes* own);
    ~shop();

    /// Runs on the connection's strand, for as long as the request may take.
    asio::awaitable<response> handle(request const&, redlock::request_deadline);

    /// What the page shows, as JSON; a fifth of a second old at most, unless the database or the nodes take longer.
    /// Empty: not yet.
    asio::awaitable<std::string> state();

    /// Collects for @ref state how long locks are waited for and held. Ends when it is cancelled.
    asio::awaitable<void> watch_times();

    /// Gives all locks back. Call it when no request is under way any more.
    asio::awaitable<void> close();

    struct counters {
        std::atomic<std::uint64_t> requests{0}, orders{0}, refused{0}, errors{0};
        std::atomic<std::int64_t> connections{0};
    } count;

private:
    asio::awaitable<response> place_order(request const&, redlock::request_deadline);
    asio::awaitable<response> sell(request const&, std::string item, std::int64_t count, std::int64_t claim,
                                   redlock::request_deadline);
    asio::awaitable<bool> knows(std::string const& item);
    asio::awaitable<response> control(request const&);
    response locks_json(request const&) const;
    response metrics(request const&) const;
    response health(request const&) const;

    /// Runs @p what with the database on its own thread: it blocks, and whoever serves connections and renews locks
    /// must not.
    template <class F>
    asio::awaitable<std::invoke_result_t<F, stock&>> on_database(F what)
    {
        auto task = [this, what = std::move(what)]() mutable -> asio::awaitable<std::invoke_result_t<F, stock&>> {
            co_return what(stock_);
        };
        co_return co_await asio::co_spawn(database_, std::move(task), asio::use_awaitable);
    }

    // For people who look on: who holds and who waits for what.
    struct held_item {
        std::string item;
        redlock::lock const* lock;
        std::size_t votes;
    };
    class waiting_note;
    class holding_note;
    void note_votes(redlock::attempt_report const&);
    asio::awaitable<std::string> make_state();

    settings const settings_;
    nodes* const own_;
    redlock::lock_manager locks_;
    asio::thread_pool database_{1};
    stock stock_;
    mutable std::mutex mutex_;
    std::list<held_item> held_;
    std::map<std::string, int> waiting_;
    std::set<std::string> known_;     ///< items: they come, and do not go
    std::vector<double> latency_ms_;  ///< of each node, the last that is known; negative: none
    lock_times times_;
    std::string state_;
    std::chrono::steady_clock::time_point state_made_;
    bool making_state_ = false;
};

/// Its target without the query, and without the server's name, which a client may send along.
inline std::string_view path_of(request const& r)
{
    auto target = std::string_view(r.target());
    if (target.starts_with("http://")) {
        target.remove_prefix(std::min(target.find('/', 7), target.size()));
        if (target.empty())
            return "/";
    }
    return target.substr(0, target.find('?'));
}

response make_response(request const&, http::status, std::string_view type, std::string body);
response problem(request const&, http::status, std::string_view type, std::string_view title, std::string_view detail);

}  // namespace shop
