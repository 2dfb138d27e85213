#pragma once

#include "redis/reply.hpp"

#include <redlock/clock.hpp>

#include <boost/redis/adapter/any_adapter.hpp>
#include <boost/redis/request.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace redlock::redis {

/** Commands that travel together, and their replies.

    All operations that reach a node before the event loop is idle share one; that is what makes the
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
        std::size_t tracked_from;  ///< with this reply the server begins to tell of changes; 0: it was not asked to
        std::vector<std::string> changed{};  ///< keys, since the server has answered; an empty one: all
    };

    batch();

    /// Its address is in the adapter, so it must stay where it is until the request has completed.
    boost::redis::any_adapter adapter();

    /// Whether reply @p i has come, whole.
    bool has(std::size_t i) const noexcept { return i < complete_; }

    /// The next reply has come, from elsewhere.
    void put(reply r);

    void clear();

    /// Calls @p f with each tracked entry about @p key, or with all entries if @p key is empty. No entry may be added later.
    template <class F>
    void each_about(std::string_view key, F f)
    {
        if (key.empty()) {
            std::ranges::for_each(entries, f);
            return;
        }
        index();
        for (auto [it, end] = by_key_.equal_range(key); it != end; ++it)
            f(entries[it->second]);
    }

    boost::redis::request request;
    std::vector<entry> entries;
    std::vector<reply> replies;
    std::function<void(batch const& answer)> look;  ///< of questions that are nobody's operation, if their connection is still there
    clock::time_point sent;
    std::uint64_t number = 0;  ///< of its sending; the object itself is used again
    std::uint32_t connection = 0;  ///< on which it was sent

private:
    void take(boost::redis::any_adapter::parse_event, boost::redis::resp3::node_view const&);
    void index();

    std::size_t complete_ = 0;
    bool indexed_ = false;
    std::unordered_multimap<std::string_view, std::size_t> by_key_;  ///< the tracked entries, made at the first use
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
