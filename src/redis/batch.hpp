#pragma once

#include "redis/reply.hpp"

#include <redlock/clock.hpp>

#include <boost/redis/adapter/any_adapter.hpp>
#include <boost/redis/request.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::redis {

/** Commands that travel together, and their replies.

    All operations that reach a node during one turn of the event loop share one; that is what makes the
    library fast. Batches are used again, so that a steady load allocates nothing.
*/
class batch {
public:
    /// An operation in the batch, and which of the replies is its answer.
    struct entry {
        std::shared_ptr<node_operation> operation;
        std::size_t answer;  ///< the first, if there are two
        bool script_loaded;  ///< the script was sent along: not to be repaired a second time
        bool native;         ///< a release without a script
        bool checks_type;    ///< see manner
        bool tracked;        ///< the reply before says whether the server will tell of changes
        bool changed = false;  ///< the key, since the server has answered
        bool turn_over = false;  ///< since then
    };

    batch();

    /// Its address is in the adapter, so it must stay where it is until the request has completed.
    boost::redis::any_adapter adapter();

    /// Whether reply @p i has come, whole.
    bool has(std::size_t i) const noexcept { return i < complete_; }

    void clear();

    boost::redis::request request;
    std::vector<entry> entries;
    std::vector<reply> replies;
    clock::time_point sent;
    std::uint64_t number = 0;  ///< of its sending; the object itself is used again

private:
    void take(boost::redis::any_adapter::parse_event, boost::redis::resp3::node_view const&);

    std::size_t complete_ = 0;
};

/// Reads which keys the server says have changed.
class push_reader {
public:
    /// It must stay where it is as long as the connection may push. @p parsed is called with each key before anything behind it
    /// is read: replies and pushes are handed out in any order. A reply that no request explains ends the connection.
    boost::redis::any_adapter adapter(std::function<void(std::string_view key)> parsed);

    /// The keys since the last call; an empty one: all.
    std::vector<std::string> take() { return std::exchange(changed_, {}); }

private:
    void read(boost::redis::any_adapter::parse_event, boost::redis::resp3::node_view const&, error_code&);
    void add(std::string_view key);

    std::function<void(std::string_view)> parsed_;
    bool invalidates_ = false;
    std::vector<std::string> changed_;
};

}  // namespace redlock::redis
