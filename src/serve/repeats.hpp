#pragma once

#include <redlock/clock.hpp>
#include <redlock/lock_ticket.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace redlock::serve {

/// Locks that were acquired with an `Idempotency-Key`, so that a repeated request gets the same lock. One instance of
/// the service remembers them, until they are released there or their time to live is over.
class repeats {
public:
    struct entry {
        std::size_t body = 0;                 ///< the hash of the body of the request
        std::optional<lock_ticket> ticket{};  ///< empty: the request is under way
        clock::time_point valid_until{};      ///< also the end of the entry
    };

    /// The lock of an earlier request with this key. Null: there is none.
    entry const* find(std::string const& key, clock::time_point now)
    {
        std::erase_if(all_, [&](auto const& e) { return e.second.valid_until < now; });
        auto const known = all_.find(key);
        return known == all_.end() ? nullptr : &known->second;
    }

    bool is_full() const noexcept { return all_.size() >= most; }
    void add(std::string const& key, entry e) { all_.insert_or_assign(key, std::move(e)); }
    void forget(std::string const& key) { all_.erase(key); }

    void forget(lock_ticket const& released)
    {
        std::erase_if(all_, [&](auto const& e) { return e.second.ticket && e.second.ticket->token == released.token; });
    }

private:
    static constexpr std::size_t most = 10'000;

    std::map<std::string, entry> all_;
};

}  // namespace redlock::serve
