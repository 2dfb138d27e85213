#pragma once

#include "core/quarantine.hpp"
#include "events/member_counters.hpp"
#include "events/event_log.hpp"
#include "runtime/runtime.hpp"

#include <redlock/detail/selection.hpp>
#include <redlock/manager_options.hpp>
#include <redlock/node.hpp>
#include <redlock/stats.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::inline v1::quorum {

/** The nodes of a manager, and the state of each: whether its votes count, how it has voted, its latest error.

    Call it on the strand, except where a comment says otherwise.

    It has many functions because a node's quarantine, votes, errors and statistics are one record. Rounds, waiters,
    checks and statistics read different parts of that record.
*/
class node_set {
public:
    node_set(std::vector<std::shared_ptr<node>>, manager_options const&, runtime::runtime&, events::event_log&,
             events::member_counters<redlock::stats>&);

    /// @param self this object. The nodes notify it for as long as it exists.
    /// @param changed gets the key that has changed, and the node. An empty key: the node may have missed changes.
    void start(std::weak_ptr<node_set> self, std::function<void(std::size_t node, std::string_view key)> changed);
    void close();
    void abandon();  ///< the execution context ends

    // Any thread.
    std::size_t size() const noexcept { return nodes_.size(); }
    node& operator[](std::size_t i) const noexcept { return *nodes_[i]; }
    std::shared_ptr<node> const& shared(std::size_t i) const noexcept { return nodes_[i]; }
    /// How many nodes must grant an acquisition.
    std::size_t quorum() const noexcept { return quorum_; }
    /// How long a round waits for the answer of node @p i.
    std::chrono::milliseconds timeout(std::size_t i) const noexcept { return known_[i].timeout; }
    /// The longest of these times.
    std::chrono::milliseconds longest_timeout() const noexcept { return longest_timeout_; }
    /// Why this @p ttl is not allowed, as text for users; empty if it is allowed.
    std::string check_ttl(std::chrono::milliseconds ttl) const;
    /// Which node cannot acquire @p wanted, and what it lacks, as text for users. Empty if all nodes can.
    std::string const& lack(detail::selection const& wanted, mode m) const noexcept
    {
        if (!lack_.empty())
            return lack_;
        if (wanted.resources.size() > 1)
            return wanted.any ? any_lack_ : several_lack_;
        if (m == mode::exclusive)
            return lack_;
        return m == mode::shared || !shared_lack_.empty() ? shared_lack_ : upgrade_lack_;
    }
    /// Which node's locks end with this manager's session, as text for users. No other process can resume such a lock.
    std::string const& tickets_lack() const noexcept { return tickets_lack_; }
    std::string const& replace_lack() const noexcept { return replace_lack_; }
    /// The latest error of node @p i, which is not ready. `node_unreachable` if it has reported none.
    std::pair<error_code, std::string> latest_error(std::size_t i) const;
    std::vector<node_stats> stats() const;
    /// Whether this manager has founded the set. Any thread.
    bool has_founded() const noexcept { return has_founded_.load(std::memory_order_relaxed); }

    /// Whether a quorum can send now.
    bool ready() const;

    /// Whether a new node is connected, and it is not known yet whether all nodes are new.
    bool awaits_others() const;

    /// Whether all nodes are known to be new to the prefix. Then no client has a lock there.
    bool is_new() const;

    /// Whether the manager may found the set by itself.
    bool may_found() const { return settings_.restart_guard == restart_guard::automatic && is_new(); }

    /// Whether another manager is founding the set: it has founded some nodes, and will have founded all soon.
    bool is_being_founded() const;

    void set_founded();

    /// Whether a quorum was ready at least once.
    bool met() const noexcept { return met_; }
    void set_met() { met_ = true; }

    /// Whether a grant of node @p i does not count, because its server has restarted and may have forgotten a lock.
    bool in_quarantine(std::size_t i) const noexcept;

    quarantine_reason reason(std::size_t i) const noexcept { return known_[i].reason.load(std::memory_order_relaxed); }

    /// Why node @p i is in quarantine, and for how long: text for users.
    std::string why_in_quarantine(std::size_t i) const;

    /// Whether a node is known that is not new to the prefix. Then the set cannot be founded.
    bool is_known_as_old() const;

    /// Whether node @p i was connected, and is not in quarantine.
    bool is_trusted(std::size_t i) const noexcept { return known_[i].server && !in_quarantine(i); }

    /// Whether node @p i must be founded to vote at once, and may be: it is new to the prefix.
    bool may_be_founded(std::size_t i) const;

    /// Whether node @p i was connected, and never forgets a lock, so that it needs no founding.
    bool never_forgets(std::size_t i) const noexcept { return known_[i].server && known_[i].server->durable; }

    /// When enough nodes will be out of quarantine for a quorum.
    clock::time_point quarantine_over() const;

    /// Records the round trip of node @p i.
    void took(std::size_t i, clock::duration d) noexcept { known_[i].count[&node_stats::round_trip].add(d); }

    /// Records the answer of node @p i to a command of this kind. @p counts_as is the vote that was counted.
    void heard(std::size_t i, node_command::kind, node_reply const&, vote counts_as);

private:
    static constexpr clock::time_point never = clock::time_point::min();

    struct knowledge {
        std::chrono::milliseconds timeout{0};
        std::optional<server_identity> server;  // nothing: it was not connected yet
        std::atomic<clock::time_point> quarantined_until{never};
        std::atomic<quarantine_reason> reason{quarantine_reason::fresh};
        events::member_counters<node_stats> count;
        error_code last_error;     // under error_mutex_
        std::string last_message;  // under error_mutex_
        // The latest state that the observer received.
        error_code reported_error;
        bool reported_quarantine = false;
        bool is_announced = true;  ///< the log has a line about the latest quarantine
        std::optional<runtime::alarm> quarantine_ends;
    };

    void connected(std::size_t i, server_identity const&);
    void learned(std::size_t i, server_identity const&);
    void note_old_set();
    void announce_quarantines();
    void announce_quarantine(std::size_t i);
    void end_quarantine(std::size_t i);
    void report_up(std::size_t i);
    void report_reply(std::size_t i, node_reply const&) noexcept;

    manager_options const& settings_;
    runtime::runtime& runtime_;
    events::event_log& log_;
    events::member_counters<redlock::stats>& count_;
    std::vector<std::shared_ptr<node>> const nodes_;
    std::size_t const quorum_;
    std::chrono::milliseconds longest_timeout_;
    std::chrono::milliseconds ttl_min_{0};
    std::string slowest_node_, ttl_min_node_;  ///< the nodes that set longest_timeout_ and ttl_min_
    std::string lack_, several_lack_, any_lack_, shared_lack_, upgrade_lack_, tickets_lack_, replace_lack_;
    std::vector<knowledge> known_;
    bool met_ = false;
    bool may_have_new_ = false;    ///< a node was new when it was last heard of
    bool may_have_fresh_ = false;  ///< a server has told a fresh record
    core::old_set old_set_;
    runtime::alarm old_set_known_{[this] { note_old_set(); }};
    std::atomic<bool> has_founded_{false};
    mutable std::mutex error_mutex_;
};

}  // namespace redlock::quorum
