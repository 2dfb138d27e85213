#pragma once

#include "runtime/as_result.hpp"

#include <redlock/clock.hpp>
#include <redlock/manager_options.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace redlock::serve {

namespace asio = boost::asio;

/// The limits of one client at one instance of the service.
struct limits {
    std::chrono::milliseconds wait{std::chrono::minutes(10)};   ///< the longest wait of a request
    std::chrono::milliseconds ttl = manager_options().max_ttl;  ///< the longest time to live of a lock
    double drift_factor = manager_options().drift_factor;       ///< of the nodes
    std::size_t waiting = 1000;                                 ///< requests that acquire a lock, at a time
    std::size_t others = 1000;                                  ///< other requests, at a time
    std::size_t bytes = 16 << 20;                               ///< of the bodies of all these requests, and of answers
    std::size_t locks = 10'000;                                 ///< held at a time
    std::size_t sessions = 1000;                                ///< at a time
    std::size_t connections = 1000;                             ///< of this client
    std::size_t connections_of_all = 1000;                      ///< of all clients together

    /// The option that raises the share of a client.
    char const* option_of_share() const noexcept
    {
        return connections < connections_of_all ? "--max-client-connections" : "--max-connections";
    }

    /// How many sessions and requests that wait these connections may have. The others stay free for short requests,
    /// such as renewals.
    static constexpr std::size_t long_requests(std::size_t connections)
    {
        return std::max<std::size_t>(connections - std::min(std::max<std::size_t>(connections / 4, 1), connections), 1);
    }
};

/// The requests under way, the answers that wait to be read, and the locks without a session, of each client.
class client_loads {
public:
    class turn;

    static constexpr std::size_t lists_max = 2;  ///< lists of one client that are made at a time
    static constexpr std::chrono::seconds turn_wait{10};

    /// @param unread_max  bytes of answers that a client has not read: beyond that, it gets no further list
    explicit client_loads(std::size_t unread_max) : unread_max_(unread_max) {}

    struct amount {
        std::size_t requests = 0;  ///< that acquire a lock
        std::size_t waits = 0;     ///< those of them that may wait
        std::size_t others = 0;    ///< other requests, without the streams of sessions
        std::size_t bytes = 0;     ///< of the bodies of all these requests
        std::size_t lists = 0;     ///< that are made
        std::size_t unread = 0;    ///< bytes of long answers that the client has not read
    };

    struct load : amount {
        std::size_t places = 0;
        std::map<std::string, clock::time_point> locks{};  ///< by token: when they end
        std::list<turn*> line{};                           ///< the lists that wait, in their order

        bool is_empty() const noexcept { return places == 0 && locks.empty() && line.empty(); }
    };

    /// Counts requests as long as they are under way.
    class place {
    public:
        place(client_loads& all, std::string const& client, amount a)
            : all_(all), at_(all.loads_.try_emplace(client).first), amount_(a)
        {
            count(1);
        }
        ~place()
        {
            count(static_cast<std::size_t>(-1));
            all_.begin_turns(at_->second);
            if (at_->second.is_empty())
                all_.loads_.erase(at_);
        }
        place(place const&) = delete;
        place& operator=(place const&) = delete;

    private:
        void count(std::size_t times)
        {
            auto& l = at_->second;
            l.places += times;
            l.requests += times * amount_.requests;
            l.waits += times * amount_.waits;
            l.others += times * amount_.others;
            l.bytes += times * amount_.bytes;
            l.lists += times * amount_.lists;
            l.unread += times * amount_.unread;
        }

        client_loads& all_;
        std::map<std::string, load>::iterator const at_;
        amount const amount_;
    };

    /** The turn of a client to make a list. A list keeps the nodes and this process busy, so only @ref lists_max of a
        client are made at a time. The others wait in their order, and leave the time between to other clients.
    */
    class turn {
    public:
        turn(client_loads& all, std::string const& client) : all_(all), client_(client) {}
        ~turn()
        {
            if (timer_)
                all_.loads_.at(client_).line.remove(this);
        }
        turn(turn const&) = delete;
        turn& operator=(turn const&) = delete;

        /// Waits for the turn, which ends with this object. @return false: it has not come within @ref turn_wait
        asio::awaitable<bool> wait()
        {
            timer_.emplace(co_await asio::this_coro::executor, turn_wait);
            auto& own = all_.loads_[client_];
            own.line.push_back(this);
            all_.begin_turns(own);
            if (!place_)
                co_await timer_->async_wait(runtime::as_result);
            co_return place_.has_value();
        }

    private:
        friend client_loads;

        client_loads& all_;
        std::string const client_;
        std::optional<asio::steady_timer> timer_{};  ///< as long as it waits
        std::optional<place> place_{};
    };

    /// The requests of all clients that may wait.
    std::size_t waits() const
    {
        std::size_t all = 0;
        for (auto const& [client, l] : loads_)
            all += l.waits;
        return all;
    }

    /// The load of a client. Locks that have ended may still be counted: see @ref forget_ended.
    load const& of(std::string const& client) const
    {
        static load const none;
        auto const known = loads_.find(client);
        return known == loads_.end() ? none : known->second;
    }

    void add_lock(std::string const& client, std::string const& token, clock::time_point until)
    {
        loads_[client].locks.insert_or_assign(token, until);
    }

    /// Another client than the one that acquired the lock may release it, so the lock is looked up in all loads.
    void remove_lock(std::string const& token)
    {
        for (auto l = loads_.begin(); l != loads_.end();) {
            l->second.locks.erase(token);
            l = l->second.is_empty() ? loads_.erase(l) : std::next(l);
        }
    }

    /// When a lock ends, as far as this instance knows. The past: it knows no such lock.
    clock::time_point end_of_lock(std::string const& token) const
    {
        for (auto const& [client, l] : loads_) {
            if (auto const known = l.locks.find(token); known != l.locks.end())
                return known->second;
        }
        return {};
    }

    void extend_lock(std::string const& token, clock::time_point until)
    {
        for (auto& [client, l] : loads_) {
            if (auto const known = l.locks.find(token); known != l.locks.end())
                known->second = until;
        }
    }

    void forget_ended(clock::time_point now)
    {
        for (auto l = loads_.begin(); l != loads_.end();) {
            std::erase_if(l->second.locks, [&](auto const& e) { return e.second < now; });
            l = l->second.is_empty() ? loads_.erase(l) : std::next(l);
        }
    }

private:
    void begin_turns(load& l)
    {
        while (!l.line.empty() && l.lists < lists_max && l.unread <= unread_max_) {
            auto& first = *l.line.front();
            l.line.pop_front();
            first.place_.emplace(*this, first.client_, amount{.lists = 1});
            first.timer_.reset();
        }
    }

    std::size_t const unread_max_;
    std::map<std::string, load> loads_;
};

}  // namespace redlock::serve
