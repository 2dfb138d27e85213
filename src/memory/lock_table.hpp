#pragma once

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <map>
#include <string>
#include <string_view>

namespace redlock::detail {

/// The keys of one lock server and what the operations do to them, as a Redis server does it. Time is an argument.
class lock_table {
public:
    struct entry {
        std::string value;
        clock::time_point expires;  ///< max: never
    };

    node_reply carry_out(node_operation const&, clock::time_point now);

    /// Null if the key is not there or its time is over.
    entry* find(std::string_view key, clock::time_point now);

    std::map<std::string, entry, std::less<>> entries;
};

}  // namespace redlock::detail
