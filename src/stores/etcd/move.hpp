#pragma once

#include "stores/etcd/layout.hpp"
#include "stores/etcd/leases.hpp"
#include "stores/kit/expiries.hpp"

#include <redlock/clock.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace redlock::stores::etcd {

/** Moves keys from their leases to the latest lease: the session key, and keys that nobody renews and that outlive
   their leases. A renewal moves its lock itself, in the transaction that looks for the lock anyway. So this takes only
   keys whose leases end within half of the ttl; a renewed lock was visited before.

    Each transaction moves some of the keys, so that other commands get a turn in between.
*/
class move {
public:
    /// The next transaction, on connection number @p connection.
    std::string next(leases const&, std::uint32_t connection, layout const&, kit::expiries const&);

    /// The latest transaction was carried out.
    void done(kit::expiries&) const;

    /// The latest transaction was the last one.
    bool is_over() const noexcept { return is_over_; }

private:
    std::vector<kit::leased> under_way_;
    clock::time_point good_until_{};  ///< the end of the lease to which they move
    bool is_over_ = false;
};

}  // namespace redlock::stores::etcd
