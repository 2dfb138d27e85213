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
    redlock::manager_options locks;
    std::string database;
    std::vector<item> goods;                          ///< items of a new database
    std::chrono::milliseconds ttl{2000};              ///< of a lock, which is renewed during the order
    std::chrono::milliseconds request_timeout{5000};  ///< upper limit for the deadline of a client
    std::chrono::milliseconds work{0};                ///< extra time of an order: stands for prices, payment and mail
    std::size_t connections_max = 4096;
    bool unguarded = false;  ///< without locks, to compare
};

/** The shop without HTTP connections: it turns each request into a response.

    @par Thread safety
    Safe on shared objects. Connections call it from all threads.
*/
class shop {
public:
    /// @param own  the lock servers that the page may stop and kill; may be null
    shop(asio::any_io_executor, settings const&, nodes* own);
    ~shop();

    /// Handles a request on the strand of its connection.
    asio::awaitable<response> handle(request const&, redlock::request_deadline);

    /// The state for the page as JSON, at most 200 ms old, unless the database or the nodes take longer. Empty if there
    /// is none yet.
    asio::awaitable<std::string> state();

    /// Collects the wait and hold times of locks for @ref state, until it is cancelled.
    asio::awaitable<void> watch_times();

    /// Releases all locks. Call it when no request is under way.
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

    /// Calls @p what with the database on a thread of its own. The database blocks; the threads that serve connections
    /// and renew locks must not.
    template <class F>
    asio::awaitable<std::invoke_result_t<F, stock&>> on_database(F what)
    {
        auto task = [this, what = std::move(what)]() mutable -> asio::awaitable<std::invoke_result_t<F, stock&>> {
            co_return what(stock_);
        };
        co_return co_await asio::co_spawn(database_, std::move(task), asio::use_awaitable);
    }

    // For the page and /locks.json: the held locks, and the number of waiting requests.
    struct held_item {
        std::string item;
        redlock::lock const* lock;
        std::size_t votes;
    };
    class waiting_note;
    class holding_note;
    std::size_t note_votes(std::shared_ptr<redlock::attempt_report const>);  ///< @return how many were granted
    asio::awaitable<std::string> make_state();

    settings const settings_;
    nodes* const own_;
    redlock::lock_manager locks_;
    asio::thread_pool database_{1};
    stock stock_;
    mutable std::mutex mutex_;
    std::list<held_item> held_;
    std::map<std::string, int> waiting_;
    std::set<std::string> known_;     ///< items; they are never deleted
    std::vector<double> latency_ms_;  ///< of each node: the latest round trip; negative: unknown
    lock_times times_;
    std::string state_;
    std::chrono::steady_clock::time_point state_made_;
    bool making_state_ = false;
};

/// The target of a request without its query, and without "http://HOST", which a client may send.
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
