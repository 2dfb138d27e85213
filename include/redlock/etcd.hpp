#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/store.hpp>

#include <chrono>
#include <string>

namespace redlock {

/// What the addresses of an @ref etcd store leave unsaid.
struct etcd_options {
    /// The time to live of the leases under which a node has its keys, 2 s to an hour; the servers may make it longer. After a third of it the
    /// keys move to a new lease. A lock is promised for no longer than its lease is certain to live (@ref node_reply::good_for): a process that
    /// is paused, or cut off, for so long has lost all its locks. The locks of a process that is killed are free after this, or sooner.
    std::chrono::seconds session{10};

    /// For how long an answer is waited for in bad times, 1 ms to a minute: a commit waits for the disks of a majority, or for an election.
    /// A round waits for the longest of this and `config::node_timeout`. A member that has not answered for three times this is given up
    /// for the next one.
    std::chrono::milliseconds timeout{1000};

    /// What all keys begin with, before `config::prefix`; at most 256 bytes.
    std::string prefix{};
};

/** Locks in an etcd cluster, 3.4 or newer: `config::stores = {redlock::etcd()}`, and in `config::nodes`

    `etcd://[user:password@]host[:port][,host…][/prefix][?session=10s&timeout=1s]`, or `etcds://` with TLS, whose files are in `config::tls`. The port
    is 2379 if not given. What is special in user and password is percent-encoded. `session` and `timeout` (such as `500ms` or `2s`) and the prefix mean
    what the members of @ref etcd_options do.

    Several hosts are one node: members of one cluster, of which one is talked to at a time. It locks several resources at once, 50 at
    the most, and draws fencing tokens. It lets nobody share a lock: `errc::unsupported`. docs/stores.md says what such a node promises.

    @throws std::invalid_argument if an option is outside its range
*/
REDLOCK_API store etcd(etcd_options options = {});

}  // namespace redlock
