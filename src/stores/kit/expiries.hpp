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

/// What a node has under its lease and must delete itself when its time is over, because the lease goes on.
struct leased {
    enum class kind { lock, wish };
    kind what;
    std::string key;
    std::string who;  ///< the lock's value, or the contender

    auto operator<=>(leased const&) const = default;
};

/// Until when each of them stays.
class expiries {
public:
    /// Never shortens. @p ttl: as it is stored, of a wish any; zero: it may not be there.
    void extend(leased const&, clock::time_point until, std::chrono::milliseconds ttl);
    void forget(leased const&);
    void clear();

    bool knows(leased const& l) const { return known_.contains(l); }
    clock::time_point until(leased const&) const;        ///< the minimum: it is not known
    std::chrono::milliseconds ttl(leased const&) const;  ///< zero: likewise

    clock::time_point next() const;                                         ///< the maximum: there is nothing
    std::vector<leased> take_due(clock::time_point now);                    ///< each once, until it is kept again
    std::vector<std::string> locks() const;                                 ///< their keys
    std::vector<leased> after(leased const* last, std::size_t most) const;  ///< the next ones in any order; null: the
                                                                            ///< first

    /// What follows from an answer to a command that was sent then. Of what we have it is known here how long it lasts.
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
