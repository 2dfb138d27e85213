#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/store.hpp>

#include <chrono>
#include <string>

namespace redlock::inline v1 {

/// Defaults of an @ref etcd store, for what its addresses do not say.
struct etcd_options {
    /// The time to live (TTL) of the leases of a node's keys: 2 s to an hour; the servers may make it longer. After a
    /// third of it, renewals put their locks under a new lease.
    ///
    /// A lock is promised for no longer than its lease is certain to live (@ref node_reply::good_for). So a process
    /// that is paused or partitioned for that long has lost all its locks. After the crash of a process, its locks are
    /// free when this time is over, or sooner.
    std::chrono::seconds session{10};

    /// The longest time to wait for an answer, 1 ms to a minute. A commit waits for the disks of a majority, or for an
    /// election in the cluster. A round waits for this node for this time, or for `manager_options::node_timeout` if
    /// that is longer. If a member has not answered for three times this, the node turns to the next one.
    std::chrono::milliseconds timeout{1000};

    /// The beginning of all keys, before `manager_options::prefix`; at most 256 bytes. Empty: none.
    std::string prefix{};
};

/** Makes a store for locks in an etcd cluster, 3.4 or newer: `manager_options::stores = {redlock::etcd()}`. Addresses
   in `manager_options::nodes`:

    `etcd://[user:password@]host[:port][,host…][/prefix][?session=10s&timeout=1s]`, or `etcds://` with TLS

    The files for TLS are in `manager_options::tls`. The port is 2379 if not given. Percent-encode special characters in
   user and password. The prefix and the parameters `session` and `timeout` (such as `500ms` or `2s`) set the members of
    @ref etcd_options.

    Several hosts are one node: members of one cluster. The node talks to one member at a time. It locks up to 50
    resources at once, and draws fencing tokens. Shared locks and any one of several resources are `errc::unsupported`.
    docs/stores.md says what such a node promises.

    @throws std::invalid_argument if an option is out of range; the message names the field, the value and the limit

    @par Thread safety
    May be called from any thread; does not wait. A store is a value, which several managers can use.

    @param options What the addresses do not say: see @ref etcd_options .
*/
REDLOCK_API store etcd(etcd_options options = {});

}  // namespace redlock
