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
    /// @param kept until when the latest lease lives. A known key may have stayed under an earlier one.
    void extend(leased const&, clock::time_point until, std::chrono::milliseconds ttl,
                clock::time_point kept = clock::time_point::max());
    void keep(leased const&, clock::time_point kept);  ///< a known key is under the lease that lives until then
    void forget(leased const&);
    void clear();

    bool knows(leased const& l) const { return known_.contains(l); }
    clock::time_point until(leased const&) const;        ///< the minimum: unknown key
    std::chrono::milliseconds ttl(leased const&) const;  ///< zero: unknown key

    clock::time_point next() const;                       ///< the maximum: there is no key
    std::vector<leased> take_due(clock::time_point now);  ///< expired keys, each only once until it is extended
    std::vector<std::string> locks() const;               ///< the keys of the locks

    clock::time_point kept(leased const&) const;        ///< until when its lease lives; the minimum: unknown key
    clock::time_point kept(node_command const&) const;  ///< until when the leases of all the command's locks live
    /// Up to @p most keys that outlive their leases, which end before @p then. The first to end come first.
    std::vector<leased> outliving(clock::time_point then, std::size_t most) const;

    /// Updates the expiry times with the reply to a command. If the command inspects a lock of this node, it also sets
    /// the remaining time in the reply.
    /// @param sent when the command was sent
    /// @param kept until when the lease lives under which the command set keys
    void note(node_command const&, node_reply&, clock::time_point sent,
              clock::time_point kept = clock::time_point::max());

private:
    void note_denied(node_command const&, node_reply const&, clock::time_point kept);

    struct entry {
        clock::time_point until;
        std::chrono::milliseconds ttl;
        clock::time_point kept;
    };
    struct earlier {
        bool operator()(auto const& a, auto const& b) const
        {
            return a.first != b.first ? a.first < b.first : *a.second < *b.second;
        }
    };
    using order = std::set<std::pair<clock::time_point, leased const*>, earlier>;
    using known = std::map<leased, entry>;

    void change(known::iterator, entry);
    void leave(known::iterator);

    known known_;
    order order_;      ///< by the expiry
    order outliving_;  ///< by the end of the lease: the keys that outlive theirs
};

}  // namespace redlock::stores::kit
