#pragma once

#include "stores/zookeeper/greeting.hpp"

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace redlock::zk {

/// What was heard of an ensemble, and whether it remembers that.
class history {
public:
    /// There is a new connection.
    void meet(greeting const& g, clock::time_point now)
    {
        if (g.zxid < zxid_ || (!id_.empty() && id_ != g.id))  // a backup, or data that was deleted
            identity_ = {.durable = false, .restarted = true, .began = now};
        id_ = g.id;
        zxid_ = g.zxid;
    }

    void heard(std::int64_t zxid) { zxid_ = std::max(zxid_, zxid); }

    server_identity const& identity() const noexcept { return identity_; }

private:
    std::string id_;
    std::int64_t zxid_ = 0;  ///< the latest
    server_identity identity_;
};

}  // namespace redlock::zk
