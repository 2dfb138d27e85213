#pragma once

#include "stores/redis/reply.hpp"
#include "stores/redis/request.hpp"
#include "stores/redis/resp.hpp"

#include <redlock/clock.hpp>

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

/** Commands that travel together, and their replies.

    All operations that reach a node before the event loop is idle share one; that is what makes the
    library fast. Batches are used again, so that a steady load allocates nothing.
*/
class batch {
public:
    /// An operation in the batch, and which of the replies is its answer.
    struct entry {
        std::shared_ptr<node_operation> operation;
        std::size_t answer;        ///< the first, if there are two
        bool script_loaded;        ///< the script was sent along: not to be repaired a second time
        bool native;               ///< a release without a script
        bool checks_type;          ///< see manner
        std::size_t tracked_from;  ///< with this reply the server begins to tell of changes; 0: it was not asked to
        std::vector<std::string> changed{};  ///< keys, since the server has answered; an empty one: all
    };

    /// Whether reply @p i has come in full.
    bool has(std::size_t i) const noexcept { return i < complete_; }

    /// The next reply has come.
    void put(reply r);

    /// The next element of the reply that is coming. Elements below the second level are left out, except from @ref
    /// parts.
    void take(resp::element const&);

    /// The reply that was coming has come in full.
    void end_reply() noexcept { ++complete_; }

    void clear();

    /// Calls @p f with each tracked entry about @p key, or with all entries if @p key is empty. No entry may be added
    /// later.
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
    std::vector<part> parts;                             ///< of all replies, if they are kept
    std::function<void(batch const& answer)> on_answer;  ///< of questions that are nobody's operation, if their
                                                         ///< connection is still there
    clock::time_point sent;
    std::uint64_t number = 0;      ///< of its sending; the object itself is used again
    std::uint32_t connection = 0;  ///< on which it was sent

private:
    void index();

    std::size_t complete_ = 0;
    bool indexed_ = false;
    std::unordered_multimap<std::string_view, std::size_t> by_key_;  ///< the tracked entries, made at the first use
};

}  // namespace redlock::stores::redis
