#pragma once

#include <redlock/clock.hpp>

#include <chrono>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace redlock::stores::etcd {

/** The leases under which a node has its keys, over one connection after the other; and a key under the latest.

    No lease is ever prolonged. A leader that was stopped has not heard of a prolongation, and when it goes on it may
    revoke the lease by its own clock, before it knows that there is a new leader (etcd issue 15247, which the releases
    that name it have mended in part only). So there is a new lease after a third of the time, and all keys move from
    the one before to it. A lease that is never prolonged ends too early nowhere.

    The session's key holds the number of the connection that counts. Each transaction has it as a condition: so what
    was sent on an earlier connection, or under leases that have ended, does nothing if it arrives late.
*/
class session {
public:
    /// @p drift_factor: see config. @p prefix: of the key's name.
    session(std::string prefix, double drift_factor) : prefix_(std::move(prefix)), drift_factor_(drift_factor) {}

    bool open() const noexcept { return !lease_.empty(); }
    std::string const& lease() const noexcept { return lease_; }
    std::string const& key() const noexcept { return key_; }
    std::chrono::milliseconds ttl() const noexcept { return ttl_; }

    /// The first lease has been granted, as was asked for at @p sent.
    void begin(std::string lease, std::chrono::milliseconds ttl, clock::time_point sent);
    void end();

    /// The next one has: all keys are to move to it.
    void move(std::string lease, std::chrono::milliseconds ttl, clock::time_point sent);
    bool moves() const noexcept { return moves_; }
    void moved();                           ///< all of them
    void stay(clock::time_point again_at);  ///< they could not; the promises of before still count

    /// Until then at least all keys are there.
    clock::time_point good_until() const noexcept { return good_until_; }

    /// When the next lease is to be granted.
    clock::time_point due() const noexcept { return moves_ ? clock::time_point::max() : due_; }

    /// Those that may not have ended yet.
    std::vector<std::string> leases() const;

private:
    std::string const prefix_;
    double const drift_factor_;
    std::string lease_;  ///< the latest
    std::string key_;
    std::chrono::milliseconds ttl_{};
    clock::time_point granted_{};  ///< the latest, as far as that is certain
    clock::time_point good_until_{}, due_{};
    bool moves_ = false;
    std::deque<std::pair<std::string, clock::time_point>> all_;  ///< and when each is over
};

}  // namespace redlock::stores::etcd
