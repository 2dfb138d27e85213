#pragma once

#include <redlock/clock.hpp>
#include <redlock/server_identity.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace redlock::stores::kit {

/// The history of servers that number their changes. It shows whether they have lost changes.
class history {
public:
    /// A new connection. @param change the number of the latest change
    void note_connection(std::string id, std::int64_t change, clock::time_point now)
    {
        if (change < change_ || (!id_.empty() && id != id_))  // restored from a backup, or the data was deleted
            identity_ = {.durable = false, .restarted = true, .began = now};
        id_ = std::move(id);
        change_ = change;
    }

    void heard(std::int64_t change) { change_ = std::max(change_, change); }

    server_identity const& identity() const noexcept { return identity_; }

private:
    std::string id_;
    std::int64_t change_ = 0;  ///< number of the latest change
    server_identity identity_;
};

}  // namespace redlock::stores::kit
