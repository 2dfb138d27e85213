#pragma once

#include <redlock/clock.hpp>
#include <redlock/detail/recycler.hpp>
#include <redlock/mode.hpp>
#include <redlock/node.hpp>
#include <redlock/report.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::inline v1::quorum {

/// Each key once. Sorted by their bytes; for an acquisition of any one of several keys, in its order of preference.
using key_list = std::vector<std::string, detail::recycler<std::string>>;

/** The keys that an acquisition may have set, their value, and the nodes that may have them.

    A held lock keeps the grant instead of the acquisition's round, which is several times as large. Each round records
    the fate of its requests here: see @ref sent and @ref answered.
*/
class grant {
public:
    grant(key_list k, std::string v, std::size_t nodes, redlock::mode m = mode::exclusive)
        : keys(std::move(k)), value(std::move(v)), mode(m), traces_(nodes)
    {
    }

    /// The state of the acquisition on one node.
    struct trace {
        std::uint32_t sent_on = 0;  ///< the number of the connection; 0: the request was never sent
        bool answered = false;      ///< the node has answered, perhaps late
        bool untouched = false;     ///< the node certainly did not execute the request
        bool withdrawn = false;     ///< a request that was not sent yet must not be sent
        bool lacks_keys = false;    ///< its latest answer to an extension, perhaps late
        redlock::vote vote = redlock::vote::unknown;
        std::uint16_t extensions = 0;  ///< sent and unanswered; one may still prolong the key
        /// Sent and unanswered requests that may set the key again, such as renewals.
        std::uint16_t repeats = 0;

        /// Whether the acquisition may have set a key, or may set one later.
        bool may_hold() const noexcept
        {
            return sent_on != 0 && !(answered && (vote == redlock::vote::denied || untouched));
        }
        /// Whether it is unknown what the node did or will do.
        bool is_unknown() const noexcept { return sent_on != 0 && !answered_with_a_vote() && !(answered && untouched); }
        bool answered_with_a_vote() const noexcept { return answered && vote != redlock::vote::unknown; }
    };
    trace& on(std::size_t node) noexcept { return traces_[node]; }
    trace const& on(std::size_t node) const noexcept { return traces_[node]; }

    /// One request of a round that is about this grant.
    struct request {
        node_command const& command;
        std::size_t node;
        std::uint32_t sent_on;  ///< the connection on which it was sent; 0: it was not sent
        bool trims;             ///< it is a release that leaves the first keys as they are
    };

    /// Records that the request is sent on @p connection now. It may have been sent before, if the node refused it.
    void sent(request const&, std::uint32_t connection) noexcept;

    /// Records the node's answer.
    void answered(request const&, node_reply const&);

    /// Whether the node may have a key now or later.
    bool may_hold(std::size_t node) const noexcept { return on(node).may_hold() || repeated(node); }

    /// Call it when another process has acquired the lock. Each node may have the keys, and may execute late requests
    /// of that process.
    void taken_over() noexcept
    {
        taken_over_ = true;
        for (auto& t : traces_)
            t = {.sent_on = 1, .answered = true, .vote = vote::granted};
    }
    bool is_taken_over() const noexcept { return taken_over_; }  ///< from any thread

    /// Requests that were not sent yet must not be sent.
    void withdraw() noexcept
    {
        for (auto& t : traces_)
            t.withdrawn = true;
    }

    /// A renewal may set keys on every node again.
    void ask_again()
    {
        for (std::size_t i = 0; i < nodes(); ++i) {
            if (on(i).vote != vote::granted) {  // otherwise the acquisition itself has set the keys there
                repeats_.resize(nodes());
                repeats_[i].asked = true;
            }
        }
    }

    /// Call it for an acquisition that grows: its rounds may set keys again.
    void grow() { repeats_.resize(nodes()); }

    /// Whether a trim is unanswered: a release of the keys that an acquisition does not keep while it grows. Any
    /// thread.
    bool has_trims_unanswered() const noexcept { return trims_.load(std::memory_order_acquire) != 0; }

    /// The first connection to the node with an unanswered trim; 0: there is none. The trim may still delete what was
    /// set on a later connection.
    std::uint32_t trimmed_on(std::size_t node) const noexcept
    {
        return repeats_.empty() ? 0 : repeats_[node].trimmed_on;
    }

    bool repeated(std::size_t node) const noexcept { return !repeats_.empty() && repeats_[node].asked; }

    /// The first connection to the node with an unanswered request that may set a key again. 0: there is none.
    std::uint32_t unanswered_on(std::size_t node) const noexcept
    {
        return repeats_.empty() ? 0 : repeats_[node].unanswered_on;
    }

    /// A request that may set a key again was sent on @p connection, and its answer was lost.
    void repeat_unanswered(std::size_t node, std::uint32_t connection)
    {
        repeats_.resize(nodes());
        if (repeats_[node].unanswered_on == 0)
            repeats_[node].unanswered_on = connection;
    }

    std::size_t nodes() const noexcept { return traces_.size(); }

    key_list const keys;
    std::string const value;
    redlock::mode const mode;
    std::atomic<std::uint64_t> fence{0};  ///< the fencing token, once it is decided; 0: no fencing. Any thread
    /// The cleaner releases the keys at this time, if the lock ends earlier (`elect_options::at_least`).
    std::optional<clock::time_point> stays_until{};
    /// Waiters of this process were to follow. The release ends the hand-overs, unless a waiter follows.
    bool hands_over = false;

private:
    void trim_sent(std::size_t node, std::uint32_t connection) noexcept;
    void trim_answered(std::size_t node) noexcept;

    std::vector<trace, detail::recycler<trace>> traces_;

    struct repeat {
        bool asked = false;               ///< a later request of the acquisition, or a renewal, may set the keys
        std::uint32_t unanswered_on = 0;  ///< the first connection with an unanswered request
        std::uint32_t trimmed_on = 0;
        std::uint32_t trims = 0;  ///< unanswered trims
    };
    std::vector<repeat> repeats_;          ///< by node; empty: there is nothing to record
    std::atomic<std::uint32_t> trims_{0};  ///< unanswered trims on all nodes
    bool taken_over_ = false;
};

}  // namespace redlock::quorum
