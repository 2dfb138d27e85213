#pragma once

#include <redlock/clock.hpp>
#include <redlock/manager_options.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace redlock::serve {

/// The limits of one client at one instance of the service.
struct limits {
    std::chrono::milliseconds wait{std::chrono::minutes(10)};   ///< the longest wait of a request
    std::chrono::milliseconds ttl = manager_options().max_ttl;  ///< the longest time to live of a lock
    double drift_factor = manager_options().drift_factor;       ///< of the nodes
    std::size_t waiting = 1000;                                 ///< requests that acquire a lock, at a time
    std::size_t others = 1000;                                  ///< other requests, at a time
    std::size_t bytes = 16 << 20;                               ///< of the bodies of all these requests
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

/// The requests under way, and the locks without a session, of each client.
class client_loads {
public:
    struct amount {
        std::size_t requests = 0;  ///< that acquire a lock
        std::size_t waits = 0;     ///< those of them that may wait
        std::size_t others = 0;    ///< other requests, without the streams of sessions
        std::size_t bytes = 0;     ///< of the bodies of all these requests
    };

    struct load : amount {
        std::size_t places = 0;
        std::map<std::string, clock::time_point> locks{};  ///< by token: when they end

        bool is_empty() const noexcept { return places == 0 && locks.empty(); }
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
        }

        client_loads& all_;
        std::map<std::string, load>::iterator const at_;
        amount const amount_;
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
    std::map<std::string, load> loads_;
};

}  // namespace redlock::serve
