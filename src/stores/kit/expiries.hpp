#pragma once

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <chrono>
#include <compare>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace redlock::stores::kit {

/// A key under a node's lease. The node must delete it after its ttl, because the lease lives longer.
struct leased {
    enum class kind { lock, wanted };
    kind what;
    std::string key;
    std::string who;  ///< the lock's value, or the contender

    auto operator<=>(leased const&) const = default;
};

/// How many waiting clients an inspection lists, at most.
inline constexpr std::size_t waiters_max = 64;

/// The expiry times of the keys under a node's lease.
class expiries {
public:
    /// Adds a key or prolongs it; never shortens it. @param ttl the stored ttl of a lock; zero: the key may be missing
    void extend(leased const&, clock::time_point until, std::chrono::milliseconds ttl);
    void forget(leased const&);
    void clear();

    bool knows(leased const& l) const { return known_.contains(l); }
    clock::time_point until(leased const&) const;        ///< the minimum: unknown key
    std::chrono::milliseconds ttl(leased const&) const;  ///< zero: unknown key

    clock::time_point next() const;                       ///< the maximum: there is no key
    std::vector<leased> take_due(clock::time_point now);  ///< expired keys, each only once until it is extended
    std::vector<std::string> locks() const;               ///< the keys of the locks
    /// Up to @p most keys that follow @p last in a fixed order. Null: the first keys.
    std::vector<leased> after(leased const* last, std::size_t most) const;

    /// Updates the expiry times with the reply to a command. If the command inspects a lock of this node, it also sets
    /// the remaining time in the reply.
    /// @param sent when the command was sent
    void note(node_command const&, node_reply&, clock::time_point sent);

private:
    void note_denied(node_command const&, node_reply const&);

    struct entry {
        clock::time_point until;
        std::chrono::milliseconds ttl;
    };
    struct earlier {
        bool operator()(auto const& a, auto const& b) const
        {
            return a.first != b.first ? a.first < b.first : *a.second < *b.second;
        }
    };
    std::map<leased, entry> known_;
    std::set<std::pair<clock::time_point, leased const*>, earlier> order_;
};

}  // namespace redlock::stores::kit
