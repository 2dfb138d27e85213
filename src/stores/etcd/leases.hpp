#pragma once

#include <redlock/clock.hpp>

#include <chrono>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace redlock::stores::etcd {

/** The leases of a node's keys, over several sessions with members, and the session key, which is under the latest
    lease.

    The node never prolongs a lease. A leader that was paused does not know of a prolongation. When it goes on, it may
    revoke the lease by its own clock, before it learns of the new leader. This is etcd issue 15247, and the releases
    that name the issue fix only a part of it. So the node gets a new lease after a third of the ttl. If nobody prolongs
    a lease, no member revokes it too early. Each key stays under its lease, and is promised the end of that lease,
    until it is renewed or moved: see @ref move.

    The session key holds the number of the current connection, and each transaction has this number as a condition. So
    etcd does not carry out late requests of earlier connections or ended leases.
*/
class leases {
public:
    /// @p drift_factor: see manager_options. @p prefix: of the key's name. A node that only reads has no lease, and its
    /// key does not exist.
    leases(std::string prefix, double drift_factor, bool reads_only);

    bool reads_only() const noexcept { return reads_only_; }
    bool open() const noexcept { return !lease_.empty(); }
    std::string const& lease() const noexcept { return lease_; }
    std::string const& key() const noexcept { return key_; }
    std::chrono::milliseconds ttl() const noexcept { return ttl_; }

    /// The first lease has been granted. The node asked for it at @p sent.
    void begin(std::string lease, std::chrono::milliseconds ttl, clock::time_point sent);
    void end();

    /// The next lease has been granted.
    void renew(std::string lease, std::chrono::milliseconds ttl, clock::time_point sent);

    /// The latest lease lives at least until then.
    clock::time_point good_until() const noexcept { return good_until_; }

    /// When to ask for the next lease.
    clock::time_point due() const noexcept { return due_; }
    void ask_again_at(clock::time_point when) noexcept { due_ = when; }

    /// The leases that may not have ended yet.
    std::vector<std::string> all() const;

private:
    std::string const prefix_;
    double const drift_factor_;
    bool const reads_only_;
    std::string lease_;  ///< the latest
    std::string key_;
    std::chrono::milliseconds ttl_{};
    clock::time_point good_until_{}, due_{};
    std::deque<std::pair<std::string, clock::time_point>> all_;  ///< each lease, with a time at which it has ended
};

}  // namespace redlock::stores::etcd
