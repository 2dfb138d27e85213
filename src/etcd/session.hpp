#pragma once

#include "etcd/json.hpp"

#include <redlock/clock.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace redlock::etcd_v3 {

/// Which server answered, and in which term of its cluster.
struct answered_by {
    std::string member{}, term{};

    explicit answered_by(json::object const& answer);
    friend bool operator==(answered_by const&, answered_by const&) = default;
};

/** The lease under which a node has its keys, over one connection after the other; and a key under it.

    That key holds the number of the connection that counts. Each transaction has it as a condition: so what was sent on an earlier connection,
    or under a lease that has ended, does nothing if it arrives late.
*/
class session {
public:
    /// @p drift_factor: see config. @p prefix: of the key's name.
    session(std::string prefix, double drift_factor) : prefix_(std::move(prefix)), drift_factor_(drift_factor) {}

    bool open() const noexcept { return !lease_.empty(); }
    std::string const& lease() const noexcept { return lease_; }
    std::string const& key() const noexcept { return key_; }
    std::chrono::milliseconds ttl() const noexcept { return ttl_; }

    /// It has been granted, as was asked for at @p sent.
    void begin(std::string lease, std::chrono::milliseconds ttl, clock::time_point sent);
    void end();

    /** It has been prolonged, as was asked for at @p sent, by who was the leader still after that.

        A leader that does not know that there is a new one prolongs leases as well, and the new one does not hear of it. So a server is asked
        to read, for which the leader asks a majority, before and after: if it has answered in the same term both times, there was no other
        leader when it prolonged.
    */
    void prolong(std::chrono::milliseconds ttl, clock::time_point sent);

    /// Until then at least it goes on.
    clock::time_point good_until() const noexcept { return good_until_; }

    /// When it is to be prolonged again.
    clock::time_point due() const noexcept { return due_; }

private:
    std::string const prefix_;
    double const drift_factor_;
    std::string lease_;
    std::string key_;
    std::chrono::milliseconds ttl_{};
    clock::time_point good_until_{}, due_{};
};

}  // namespace redlock::etcd_v3
