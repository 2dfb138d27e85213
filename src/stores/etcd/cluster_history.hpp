#pragma once

#include "stores/etcd/json.hpp"

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace redlock::etcd_v3 {

/// What was heard of a cluster, and whether it remembers that.
class cluster_history {
public:
    /// A member has answered on a new connection.
    void meet(json::object const& answer, clock::time_point now)
    {
        auto id = std::string(text(object(answer, "header"), "cluster_id"));
        auto const revision = revision_of(answer);
        if (revision < revision_ || (!id_.empty() && id != id_))  // a backup, or data that was deleted
            identity_ = {.durable = false, .restarted = true, .began = now};
        id_ = std::move(id);
        revision_ = revision;
    }

    void heard(std::int64_t revision) { revision_ = std::max(revision_, revision); }

    static std::int64_t revision_of(json::object const& answer) { return number(object(answer, "header"), "revision"); }

    std::string const& id() const noexcept { return id_; }
    server_identity const& identity() const noexcept { return identity_; }

private:
    std::string id_;
    std::int64_t revision_ = 0;  ///< the latest
    server_identity identity_;
};

}  // namespace redlock::etcd_v3
