#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/store.hpp>

#include <chrono>
#include <string>

namespace redlock::inline v1 {

/// Defaults of a @ref zookeeper store, for what its addresses do not say.
struct zookeeper_options {
    /// The timeout of the session of a node's locks: 100 ms to an hour. The servers keep it within their own limits, by
    /// default 2 to 20 of their ticks.
    ///
    /// A lock is promised for half of it at a time (@ref node_reply::good_for). So a process that is paused or
    /// partitioned for that long has lost all its locks. After the crash of a process, its locks are free when this
    /// time is over.
    std::chrono::milliseconds session{10'000};

    /// The longest time to wait for an answer, 1 ms to a minute. A commit waits for the disks of a majority, or for an
    /// election in the ensemble. A round waits for this node for this time, or for `manager_options::node_timeout` if
    /// that is longer. If a server has not answered for three times this, the node turns to the next one.
    std::chrono::milliseconds timeout{1000};

    /// The znode below which all data are, such as "/shop/locks". It must exist; the node creates `redlock` below it.
    /// Empty: the root.
    std::string chroot{};
};

/** Makes a store for locks in a ZooKeeper ensemble, 3.5 or newer: `manager_options::stores = {redlock::zookeeper()}`.
   Addresses in `manager_options::nodes`:

    `zookeeper://[user:password@]host[:port][,host…][/chroot][?session=10s&timeout=1s]`

    The port is 2181 if not given. Percent-encode special characters in user, password and chroot. The chroot and the
    parameters `session` and `timeout` (such as `500ms` or `2s`) set the members of @ref zookeeper_options. A user has
    the scheme "digest": the znodes are then for that user alone. Without a user, they are for everybody.

    Several hosts are one node: servers of one ensemble. The node talks to one server at a time. It locks up to 100
    resources at once, and draws fencing tokens. Shared locks and any one of several resources are `errc::unsupported`.
    docs/stores.md says what such a node promises.

    @throws std::invalid_argument if an option is out of range; the message names the field, the value and the limit

    @par Thread safety
    May be called from any thread; does not wait. A store is a value, which several managers can use.

    @param options What the addresses do not say: see @ref zookeeper_options .
*/
REDLOCK_API store zookeeper(zookeeper_options options = {});

}  // namespace redlock
