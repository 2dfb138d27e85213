#pragma once

#include <redlock/clock.hpp>
#include <redlock/config.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace redlock::serve {

/// The limits of one client at one instance of the service.
struct limits {
    std::chrono::milliseconds wait{std::chrono::minutes(10)};  ///< the longest wait of a request
    std::chrono::milliseconds ttl = config().max_ttl;          ///< the longest time to live of a lock
    double drift_factor = config().drift_factor;               ///< of the nodes
    bool fencing = false;                                      ///< whether locks have fencing tokens
    std::size_t waiting = 1000;                                ///< requests that acquire a lock, at a time
    std::size_t bytes = 16 << 20;                              ///< of the bodies of these requests
    std::size_t locks = 10'000;                                ///< held at a time
    std::size_t sessions = 1000;                               ///< at a time
};

/// The requests that acquire locks, and the locks without a session, of each client.
class client_loads {
public:
    struct load {
        std::size_t requests = 0, bytes = 0;
        std::map<std::string, clock::time_point> locks{};  ///< by token: when they end

        bool is_empty() const noexcept { return requests == 0 && locks.empty(); }
    };

    /// Counts a request as long as it is under way.
    class place {
    public:
        place(client_loads& all, std::string client, std::size_t bytes)
            : all_(all), client_(std::move(client)), bytes_(bytes)
        {
            auto& l = all_.loads_[client_];
            ++l.requests;
            l.bytes += bytes_;
        }
        ~place()
        {
            auto& l = all_.loads_[client_];
            --l.requests;
            l.bytes -= bytes_;
            if (l.is_empty())
                all_.loads_.erase(client_);
        }
        place(place const&) = delete;
        place& operator=(place const&) = delete;

    private:
        client_loads& all_;
        std::string const client_;
        std::size_t const bytes_;
    };

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
