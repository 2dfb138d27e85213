#pragma once

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::stores::etcd {

/// The events of a watch.
enum class watch_for : std::uint8_t { deletions, all_changes };

/** The keys whose changes the manager wants to know, and the watches of the server on one connection.

    Each request of the manager gets one notification. The server goes on watching for a while after that, because the
    manager will probably ask again.
*/
class watches {
public:
    /// @p prefix: of the keys in etcd
    explicit watches(std::string prefix) : prefix_(std::move(prefix)) {}

    struct asked {
        std::vector<std::string> messages{};  ///< to the server
        std::vector<std::string> changed{};   ///< keys of which the manager must hear now
    };

    /// An acquisition was denied because of the keys at @p revision, and asks for notifications of their deletion.
    asked denied(node_command const&, node_reply const&, std::int64_t revision, clock::time_point now);

    /// An inspection has read @p key at @p revision, and asks for a notification of any change.
    asked inspected(std::string const& key, std::int64_t revision, clock::time_point now);

    /// The server has sent an event for the watch @p id. @return the key; empty: the manager has not asked for it
    std::string touched(std::uint64_t id, std::int64_t revision);

    /// The server has ended the watch. @return as @ref touched
    std::string ended(std::uint64_t id);

    /// Ends the watches for which the manager has not asked for a while. A key that is never acquired has no event, so
    /// even a watch that the manager still waits for ends, with a notification.
    asked tidy(clock::time_point now);

    /// Forgets all watches, because the connection has ended.
    void clear();

private:
    using topic = std::pair<std::string, watch_for>;
    struct watched {
        std::uint64_t id;
        bool asked = true;
        std::int64_t changed = 0;  ///< the revision of the latest event
        clock::time_point used;
    };

    void ask(topic const&, std::int64_t revision, clock::time_point now, asked& to);

    std::string const prefix_;
    std::uint64_t last_ = 0;
    std::map<topic, watched> known_;
    std::map<std::uint64_t, topic> topics_;
};

/// A message that asks for events of @p key after @p revision, as watch number @p id.
std::string watch_message(std::string_view key, std::uint64_t id, std::int64_t revision,
                          watch_for = watch_for::deletions);

}  // namespace redlock::stores::etcd
