#pragma once

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::etcd {

/** The keys whose deletion the manager wants to know, and the watches of the server on one connection.

    Each request of the manager gets one notification. The server goes on watching for a while after that, because the
    manager will probably ask again.
*/
class watches {
public:
    /// @p prefix: of the keys in etcd
    explicit watches(std::string prefix) : prefix_(std::move(prefix)) {}

    struct asked {
        std::vector<std::string> messages{};  ///< to the server
        std::vector<std::string> changed{};   ///< keys that were deleted already
    };

    /// An acquisition was denied because of the keys at @p revision, and asks for notifications.
    asked denied(node_command const&, node_reply const&, std::int64_t revision, clock::time_point now);

    /// The server has sent a deletion for the watch @p id. @return the key; empty: the manager has not asked for it
    std::string deleted(std::uint64_t id, std::int64_t revision);

    /// The server has ended the watch. @return as @ref deleted
    std::string ended(std::uint64_t id);

    /// Messages that end the watches for which the manager has not asked for a while.
    std::vector<std::string> tidy(clock::time_point now);

    /// Forgets all watches, because the connection has ended.
    void clear();

private:
    struct watched {
        std::uint64_t id;
        bool asked = true;
        std::int64_t changed = 0;  ///< the revision of the latest deletion
        clock::time_point used;
    };

    void ask(std::string const& name, std::int64_t revision, clock::time_point now, asked& to);

    std::string const prefix_;
    std::uint64_t last_ = 0;
    std::map<std::string, watched, std::less<>> known_;
    std::map<std::uint64_t, std::string> names_;
};

/// A message that asks for deletions of @p key after @p revision, as watch number @p id.
std::string watch_message(std::string_view key, std::uint64_t id, std::int64_t revision);

}  // namespace redlock::stores::etcd
