#pragma once

#include <redlock/clock.hpp>
#include <redlock/lock_ticket.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace redlock::serve {

/// Locks that were acquired with an `Idempotency-Key`, so that a repeated request gets the same lock. One instance of
/// the service remembers them as long as it knows that they are held.
class repeats {
public:
    struct entry {
        std::size_t body = 0;                 ///< the hash of the body of the request
        std::optional<lock_ticket> ticket{};  ///< empty: the request is under way
        clock::time_point valid_until{};      ///< also the end of the entry
    };

    /// The lock of an earlier request with this key. Null: there is none.
    /// @param held_until  of a ticket: the end of the lock, which may have been extended
    template <class Function>
    entry const* find(std::string const& key, clock::time_point now, Function held_until)
    {
        while (!ends_.empty() && ends_.begin()->first < now) {
            auto const ended = std::string(ends_.begin()->second);
            auto again = all_.at(ended);
            again.valid_until = held_until(*again.ticket);
            forget(ended);
            if (again.valid_until >= now)
                add(ended, std::move(again));
        }
        auto const known = all_.find(key);
        return known == all_.end() ? nullptr : &known->second;
    }

    bool is_full(std::size_t locks_max) const noexcept { return all_.size() >= std::max(most, locks_max); }

    void add(std::string const& key, entry e)
    {
        forget(key);
        if (e.ticket)
            keys_.emplace(e.ticket->token, key);
        ends_.emplace(e.valid_until, key);
        all_.emplace(key, std::move(e));
    }

    void forget(std::string const& key)
    {
        auto const known = all_.find(key);
        if (known == all_.end())
            return;
        if (known->second.ticket)
            keys_.erase(known->second.ticket->token);
        ends_.erase({known->second.valid_until, key});
        all_.erase(known);
    }

    /// The lock has another ticket now.
    void replace(std::string const& former, lock_ticket const& now)
    {
        auto const known = keys_.find(former);
        if (known == keys_.end())
            return;
        auto const key = known->second;
        all_.at(key).ticket = now;
        keys_.erase(known);
        keys_.emplace(now.token, key);
    }

    void forget(lock_ticket const& released)
    {
        if (auto const known = keys_.find(released.token); known != keys_.end())
            forget(std::string(known->second));
    }

private:
    static constexpr std::size_t most = 10'000;

    std::map<std::string, entry> all_;
    std::map<std::string, std::string> keys_;                     ///< by token of the lock
    std::set<std::pair<clock::time_point, std::string>> ends_{};  ///< when the entries end
};

}  // namespace redlock::serve
