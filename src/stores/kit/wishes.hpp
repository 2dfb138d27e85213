#pragma once

#include <redlock/node.hpp>

#include <algorithm>
#include <functional>
#include <set>
#include <string>

namespace redlock::stores::kit {

/// The keys of commands that are under way and may note the wish of their client. A withdrawal that overtakes such a
/// command leaves the wish.
class wishes {
public:
    void sent(node_command const& c)
    {
        if (may_note(c))
            keys_.insert(c.keys.begin(), c.keys.end());
    }

    void answered(node_command const& c)
    {
        if (!may_note(c))
            return;
        for (auto const& key : c.keys) {
            if (auto const at = keys_.find(key); at != keys_.end())
                keys_.erase(at);
        }
    }

    /// Whether a command that is under way may still note a wish that @p c withdraws.
    bool may_follow(node_command const& c) const
    {
        return std::ranges::any_of(c.keys, [&](auto const& key) { return keys_.contains(key); });
    }

    /// Whether the client of the withdrawal @p earlier wishes for the same again by @p c, and will withdraw that
    /// itself.
    static bool replaces(node_command const& c, node_command const& earlier)
    {
        return may_note(c) && c.contender() == earlier.contender()
               && std::ranges::all_of(earlier.keys,
                                      [&](auto const& key) { return std::ranges::find(c.keys, key) != c.keys.end(); });
    }

private:
    static bool may_note(node_command const& c)
    {
        return c.which() != node_command::kind::withdraw && !c.contender().empty();
    }

    std::multiset<std::string, std::less<>> keys_;
};

}  // namespace redlock::stores::kit
