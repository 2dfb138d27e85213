#pragma once

#include <redlock/clock.hpp>
#include <redlock/detail/recycler.hpp>
#include <redlock/mode.hpp>
#include <redlock/report.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::inline v0::quorum {

/// In the order of their bytes, each once.
using key_list = std::vector<std::string, detail::recycler<std::string>>;

/** What an acquisition may have set: the keys, their value, and the nodes that may have them.

    A held lock keeps this, and not the round of acquisition, which is several times as large: the round notes here what
    becomes of its requests.
*/
class grant {
public:
    grant(key_list k, std::string v, std::size_t nodes, redlock::mode m = mode::exclusive)
        : keys(std::move(k)), value(std::move(v)), mode(m), traces_(nodes)
    {
    }

    /// What has become of the acquisition on one node.
    struct trace {
        std::uint32_t sent_on = 0;  ///< the connection; 0: it was never handed to one
        bool answered = false;      ///< however late
        bool untouched = false;     ///< the node certainly did not carry it out
        bool withdrawn = false;     ///< what was not sent yet will not be
        redlock::vote vote = redlock::vote::unknown;
        std::uint16_t extensions = 0;  ///< sent, and not answered: they may let the key live for another ttl yet
        std::uint16_t repeats = 0;     ///< what may set a key again, renewals for instance, and is under way: sent, and
                                       ///< not answered

        /// Whether it may have set a key, or do so later.
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

    /// Whether the node may have a key now or later.
    bool may_hold(std::size_t node) const noexcept { return on(node).may_hold() || repeated(node); }

    /// Another process has acquired it: each node may have the keys, and may carry out late what that has sent.
    void taken_over() noexcept
    {
        taken_over_ = true;
        for (auto& t : traces_)
            t = {.sent_on = 1, .answered = true, .vote = vote::granted};
    }
    bool is_taken_over() const noexcept { return taken_over_; }  ///< any thread

    /// What was not sent yet will not be.
    void withdraw() noexcept
    {
        for (auto& t : traces_)
            t.withdrawn = true;
    }

    /// A renewal may set a key on the node again.
    void ask_again(std::size_t node)
    {
        if (on(node).vote == vote::granted)  // it was the acquisition that set the keys there
            return;
        repeats_.resize(nodes());
        repeats_[node].asked = true;
    }

    /// Rounds of an acquisition that grows may set keys again; @ref sent_again tells on which nodes.
    void grow() { repeats_.resize(nodes()); }
    void sent_again(std::size_t node) noexcept { repeats_[node].asked = true; }

    /// What an acquisition that grows gives back on the way: it was sent on @p connection; it was answered.
    void trim_sent(std::size_t node, std::uint32_t connection) noexcept
    {
        ++trims_;
        if (repeats_[node].trims++ == 0)
            repeats_[node].trimmed_on = connection;
    }
    void trim_answered(std::size_t node) noexcept
    {
        --trims_;
        if (--repeats_[node].trims == 0)
            repeats_[node].trimmed_on = 0;
    }
    bool has_trims_unanswered() const noexcept { return trims_.load(std::memory_order_acquire) != 0; }  ///< any thread

    /// The first connection to the node on which such a request is unanswered: what was sent on later ones it may still
    /// take away. 0: there is none.
    std::uint32_t trimmed_on(std::size_t node) const noexcept
    {
        return repeats_.empty() ? 0 : repeats_[node].trimmed_on;
    }

    bool repeated(std::size_t node) const noexcept { return !repeats_.empty() && repeats_[node].asked; }

    /// The first connection to the node on which a request that may set a key again is unanswered. 0: there is none.
    std::uint32_t unanswered_on(std::size_t node) const noexcept
    {
        return repeats_.empty() ? 0 : repeats_[node].unanswered_on;
    }

    /// One was sent on @p connection, and its answer got lost.
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
    std::atomic<std::uint64_t> fence{0};  ///< the fencing token, once it is decided; 0: without fencing. Any thread
    std::optional<clock::time_point> stays_until{};  ///< the keys are kept until then, although nobody needs them any
                                                     ///< more
    bool hands_on = false;  ///< more of this process were to follow: the release ends that, unless one does

private:
    std::vector<trace, detail::recycler<trace>> traces_;

    struct repeat {
        bool asked = false;               ///< the acquisition had not set the keys, as far as was known
        std::uint32_t unanswered_on = 0;  ///< the first such connection
        std::uint32_t trimmed_on = 0;
        std::uint32_t trims = 0;  ///< that are unanswered
    };
    std::vector<repeat> repeats_;          ///< by node; empty: nothing to tell
    std::atomic<std::uint32_t> trims_{0};  ///< that are unanswered, on all nodes
    bool taken_over_ = false;
};

}  // namespace redlock::quorum
