#pragma once

#include "stores/redis/reply.hpp"
#include "stores/redis/request.hpp"
#include "stores/redis/resp.hpp"

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

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

namespace redlock::stores::redis {

/** Commands that are sent together (pipelining), and their replies.

    All operations that reach a node before the event loop is idle share a batch. Batches are reused, so a steady load
    allocates no memory.
*/
class batch {
public:
    /// An operation in the batch, and the index of its reply.
    struct entry {
        std::shared_ptr<node_operation> operation;
        std::size_t answer;                  ///< index of the reply; of the first reply if there are two
        bool script_loaded;                  ///< the request loads the script, so NOSCRIPT is not retried
        bool native;                         ///< a release without a script
        bool checks_type;                    ///< see manner
        std::size_t tracked_from;            ///< from this reply on the server tells of changes of the lock; 0: never
        std::vector<std::string> changed{};  ///< keys that changed after the server's answer; an empty key: all
    };

    /// Whether reply @p i is complete.
    bool has(std::size_t i) const noexcept { return i < complete_; }

    /// Adds the next reply, which is complete.
    void put(reply r);

    /// Adds an element to the current reply. Only @ref parts keeps elements below the second level.
    void take(resp::element const&);

    /// Marks the current reply as complete.
    void end_reply() noexcept { ++complete_; }

    void clear();

    /// Calls @p f with each tracked entry about @p key, or with all entries if @p key is empty. Entries must not be
    /// added after the first call.
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

    /// An element of a reply, at any depth.
    struct part {
        resp::type type;
        std::size_t depth;
        std::string text;
    };

    redis::request request;
    std::vector<entry> entries;
    std::vector<reply> replies;
    bool keeps_parts = false;
    std::vector<part> parts;  ///< of all replies, if `keeps_parts` is set
    std::size_t word_at = 0;  ///< index of the answer to connection::ask_for_word; 0: it was not asked
    /// Gets the answers to a batch without operations, if the connection is still open.
    std::function<void(batch const& answer)> on_answer;
    clock::time_point sent;
    std::uint64_t number = 0;      ///< sequence number of the sending; the batch object is reused
    std::uint32_t connection = 0;  ///< number of the connection on which the batch was sent

private:
    void index();

    std::size_t complete_ = 0;
    bool indexed_ = false;
    std::unordered_multimap<std::string_view, std::size_t> by_key_;  ///< the tracked entries, built at the first use
};

}  // namespace redlock::stores::redis
