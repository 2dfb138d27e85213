#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace redlock::net {

/// Finds out whether all addresses of a name lead to one server.
class address_census {
public:
    struct result {
        std::string next{};   ///< an address to look at, too; empty: all were looked at
        std::string other{};  ///< an address of another server; empty: there is none
    };

    /// The server @p id can vote, and was met at the address @p here.
    /// @param all the addresses of the name
    result met(std::string const& here, std::string const& id, std::vector<std::string> const& all)
    {
        auto const before = std::exchange(met_[here], id);
        if (!before.empty() && before != id)  // it has restarted, so nothing is known about the others
            met_ = {{here, id}};
        std::erase_if(met_, [&](auto& one) { return std::ranges::find(all, one.first) == all.end(); });
        for (auto const& address : all) {
            auto const [known, is_next] = met_.try_emplace(address);  // looked at once: it may not answer
            if (is_next)
                return {.next = address};
            if (!known->second.empty() && known->second != id)
                return {.other = address};
        }
        return {};
    }

    void clear() { met_.clear(); }

private:
    std::map<std::string, std::string> met_;  ///< the server at each address; empty: none that can vote
};

}  // namespace redlock::net
