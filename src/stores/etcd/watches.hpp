#pragma once

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::etcd {

/** What a manager wants to be told of, and what the server watches for that on one connection.

    Who is told once is told no more until he asks again; the server goes on watching for a while, because that is
    likely.
*/
class watches {
public:
    /// @p prefix: of the keys in etcd
    explicit watches(std::string prefix) : prefix_(std::move(prefix)) {}

    struct asked {
        std::vector<std::string> messages{};  ///< to the server
        std::vector<std::string> changed{};   ///< names of what has been deleted already
    };

    /// Who has been denied what was there at @p revision wants to be told.
    asked denied(node_command const&, node_reply const&, std::int64_t revision, clock::time_point now);

    /// The server says so of number @p id. @return the name; empty: nobody wants to know
    std::string deleted(std::uint64_t id, std::int64_t revision);

    /// The server watches it no more.
    std::string ended(std::uint64_t id);

    /// Messages about what nobody has asked about for a while.
    std::vector<std::string> tidy(clock::time_point now);

    /// There is a new connection.
    void clear();

private:
    struct watched {
        std::uint64_t id;
        bool asked = true;
        std::int64_t changed = 0;  ///< the latest revision
        clock::time_point used;
    };

    void ask(std::string const& name, std::int64_t revision, clock::time_point now, asked& to);

    std::string const prefix_;
    std::uint64_t last_ = 0;
    std::map<std::string, watched, std::less<>> known_;
    std::map<std::uint64_t, std::string> names_;
};

/// A message to watch for the deletion of @p key after @p revision, as number @p id.
std::string watch_message(std::string_view key, std::uint64_t id, std::int64_t revision);

}  // namespace redlock::stores::etcd
