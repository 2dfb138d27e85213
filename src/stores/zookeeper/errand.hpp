#pragma once

#include "stores/kit/expiries.hpp"
#include "stores/zookeeper/transport.hpp"
#include "stores/zookeeper/layout.hpp"

#include <redlock/node.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace redlock::stores::zookeeper {

using kit::expiries;
using kit::leased;

/// The highest number of keys in one transaction. By default, a server takes requests of up to a megabyte.
inline constexpr std::size_t keys_max = 100;

/// The node's knowledge of the server's data, besides its locks. If it is wrong, a transaction fails, and the errand
/// reads the data again.
struct knowledge {
    struct counter {
        std::uint64_t value = 0;
        int version = -1;  ///< -1: missing
    };
    std::map<std::string, counter, std::less<>> counters{};
    /// Keys that this manager may hand over. On the server there are no turns of this session that are missing here.
    std::set<std::string, std::less<>> turns{};
    std::map<std::string, std::string> interests{};  ///< the key to report, by the watched path
    /// Like `interests`, for inspections. Waiters for the same key need not hear of all its changes.
    std::map<std::string, std::string> looks{};
};

/// The state that all errands of a node share.
struct scope {
    std::shared_ptr<transport> server;
    zookeeper::layout layout;
    std::string session{};  ///< the path of the session's node
    int version = 0;        ///< of the session's node; it changes with each connection
    /// The assumed remaining time of a lock that another program wrote without a ttl.
    std::chrono::milliseconds lasting{};
    std::shared_ptr<kit::expiries> ours;
    std::shared_ptr<knowledge> known;
};

struct outcome {
    node_reply reply;
    std::vector<std::string> changed{};  ///< further keys to report as changed
};

/** One command: its requests to ZooKeeper, one after the other, and the meaning of the answers.

    It changes locks and counters in one transaction; only a release has one for each key. The condition of a
    transaction is that its connection still counts, so late requests of earlier connections do nothing. If the errand
    has wrong knowledge of the data, the transaction fails, and the errand reads the data.
*/
class errand {
public:
    errand(scope s, std::shared_ptr<node_operation> o)
        : s_(std::move(s)), operation_(std::move(o)), c_(operation_->command())
    {
    }

    asio::awaitable<outcome> run();

private:
    /// A transaction, with the role and the key of each step.
    struct plan {
        enum class role { lock, counter };
        std::vector<step> steps;
        std::vector<role> roles;
        std::vector<std::size_t> keys;

        void add(step s, role r, std::size_t key);
    };

    struct verdict {
        int code = ZOK;
        std::size_t step = 0;  ///< the step that failed
        bool is_told = false;  ///< whether the step is known
    };

    /// A key when the errand read it.
    struct seen {
        bool is_there = false, handed_on = false;
        content what{};
    };

    static constexpr int tries_max = 16;  ///< attempts, if another client is quicker each time; then @ref too_busy
    static node_reply too_busy();

    std::shared_ptr<pending> begin(std::vector<step>) const;
    asio::awaitable<verdict> verdict_of(std::shared_ptr<pending>) const;

    plan to_acquire(std::size_t kept) const;
    void add_lock(plan&, std::size_t key) const;
    void add_no_lock(plan&, std::size_t key) const;
    void add_counter(plan&, std::size_t key, std::uint64_t to) const;
    bool is_ours(std::size_t key) const
    {
        return key < seen_.size() && seen_[key].is_there && seen_[key].what.value == c_.value;
    }
    bool is_free(std::size_t key) const { return key >= seen_.size() || !seen_[key].is_there; }
    std::size_t free_or_ours() const;

    asio::awaitable<node_reply> acquire();
    asio::awaitable<node_reply> granted(std::vector<std::shared_ptr<pending>> all_wanted);
    asio::awaitable<node_reply> denied(std::size_t refused);
    taken_key taken(std::size_t key) const;
    asio::awaitable<void> read_locks();
    bool was_seen_lately(std::string const& key) const;
    asio::awaitable<int> look_at_holders();
    asio::awaitable<void> note_wanted(std::string const& key);
    asio::awaitable<bool> look_at_counters();
    std::size_t note_counters(plan const&, std::uint64_t to) const;
    asio::awaitable<node_reply> raise();
    asio::awaitable<node_reply> extend();
    asio::awaitable<node_reply> release();
    asio::awaitable<node_reply> inspect();
    asio::awaitable<node_reply> scan();
    node_reply withdraw();
    void end_handovers(std::string const& key);

    scope const s_;
    std::shared_ptr<node_operation> const operation_;
    node_command const& c_;
    std::vector<seen> seen_{};  ///< of each key; empty: not read yet
    std::vector<std::string> changed_{};
};

}  // namespace redlock::stores::zookeeper
