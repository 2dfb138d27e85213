#pragma once

#include <redlock/detail/recycler.hpp>

#include <redlock/report.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::detail {

/** What an acquisition may have set: the key, its value, and the nodes that may have it.

    A held lock keeps this, and not the round of acquisition, which is several times as large: the round notes here what
    becomes of its requests.
*/
class grant {
public:
    grant(std::string key, std::string value, std::size_t nodes);

    /// What has become of the acquisition on one node.
    struct trace {
        std::uint32_t sent_on = 0;  ///< the connection; 0: it was never handed to one
        bool answered = false;      ///< however late
        bool untouched = false;     ///< the node certainly did not carry it out
        bool withdrawn = false;     ///< what was not sent yet will not be
        redlock::vote vote = redlock::vote::unknown;

        /// Whether it may have set the key, or do so later.
        bool may_hold() const noexcept
        {
            return sent_on != 0 && !(answered && (vote == redlock::vote::denied || untouched));
        }
        /// Whether nobody knows what the node did, or will do.
        bool is_unknown() const noexcept { return sent_on != 0 && !answered_with_a_vote() && !(answered && untouched); }
        bool answered_with_a_vote() const noexcept { return answered && vote != redlock::vote::unknown; }
    };
    trace& on(std::size_t node) noexcept { return traces_[node]; }
    trace const& on(std::size_t node) const noexcept { return traces_[node]; }

    /// Whether the node may have the key now or later.
    bool may_hold(std::size_t node) const noexcept { return on(node).may_hold() || healed(node); }

    /// A renewal may set the key on the node.
    void ask_to_heal(std::size_t node);

    bool healed(std::size_t node) const noexcept { return !heals_.empty() && heals_[node].asked; }

    /// The first connection to the node on which a renewal that may set the key again is unanswered. 0: there is none.
    std::uint32_t unanswered_on(std::size_t node) const noexcept;

    /// One was sent on @p connection, and its answer got lost.
    void heal_unanswered(std::size_t node, std::uint32_t connection);

    std::size_t nodes() const noexcept { return traces_.size(); }

    std::string const key;
    std::string const value;
    std::uint64_t fence = 0;  ///< the fencing token, once it is decided; 0: without fencing
    bool hands_on = false;    ///< more of this process were to follow: the release ends that, unless one does

private:
    std::vector<trace, recycler<trace>> traces_;

    struct heal {
        bool asked = false;               ///< the acquisition had not set the key, as far as was known
        std::uint32_t unanswered_on = 0;  ///< the first such connection
    };
    std::vector<heal> heals_;             ///< by node; empty: nothing to tell
};

}  // namespace redlock::detail
