#pragma once

#include "stores/kit/expiries.hpp"
#include "stores/zookeeper/client.hpp"
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

/// So many keys go into one transaction, at the most: a server takes a megabyte if nobody changes that.
inline constexpr std::size_t keys_max = 100;

/// What a node knows of what is there, beside its locks. If it is wrong a transaction fails, and it is looked again.
struct knowledge {
    struct counter {
        std::uint64_t value = 0;
        int version = -1;  ///< -1: it is not there
    };
    std::map<std::string, counter, std::less<>> counters{};
    std::set<std::string, std::less<>> turns{};  ///< keys of those that we hand on; none is there that is missing here
    std::map<std::string, std::string> interests{};  ///< whom to tell of, by the node that is watched
};

/// What errands are about.
struct scope {
    std::shared_ptr<client> server;
    zookeeper::layout layout;
    std::string session{};                ///< the node of this session
    int version = 0;                      ///< that it must have: it changes with each connection
    std::chrono::milliseconds lasting{};  ///< for how long what somebody else has may last, if nobody knows better
    std::shared_ptr<kit::expiries> ours;
    std::shared_ptr<knowledge> known;
};

struct outcome {
    node_reply reply;
    std::vector<std::string> changed{};  ///< what there is to tell besides
};

/** One command on its way: what to ask ZooKeeper for, one thing after the other, and what the answers say.

    What it does is done in one transaction, on condition that the connection is the one that counts; so what was sent
    on an earlier one does nothing if it arrives late. What it cannot know before it finds out by failing.
*/
class errand {
public:
    errand(scope s, std::shared_ptr<node_operation> o)
        : s_(std::move(s)), operation_(std::move(o)), c_(operation_->command())
    {
    }

    asio::awaitable<outcome> run();

private:
    /// What a transaction is to do, and for which key.
    struct plan {
        enum class role { lock, counter };
        std::vector<step> steps;
        std::vector<role> roles;
        std::vector<std::size_t> keys;

        void add(step s, role r, std::size_t key);
    };

    struct verdict {
        int code = ZOK;
        std::size_t step = 0;  ///< which one failed
        bool is_told = false;  ///< whether it is known
    };

    /// What was there.
    struct seen {
        bool is_there = false, handed_on = false;
        content what{};
    };

    static constexpr int tries_max = 16;  ///< others are quicker each time: then it is their turn
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
    asio::awaitable<node_reply> granted(std::vector<std::shared_ptr<pending>> wishes);
    asio::awaitable<node_reply> denied(std::size_t refused);
    taken_key taken(std::size_t key) const;
    asio::awaitable<void> read_locks();
    asio::awaitable<void> wish(std::string const& key);
    asio::awaitable<bool> look_at_counters();
    std::size_t note_counters(plan const&, std::uint64_t to) const;
    asio::awaitable<node_reply> raise();
    asio::awaitable<node_reply> extend();
    asio::awaitable<node_reply> release();
    asio::awaitable<node_reply> inspect();
    node_reply withdraw();
    void end_handovers(std::string const& key);

    scope const s_;
    std::shared_ptr<node_operation> const operation_;
    node_command const& c_;
    std::vector<seen> seen_{};  ///< of each key; empty: it has not looked
    std::vector<std::string> changed_{};
};

}  // namespace redlock::stores::zookeeper
