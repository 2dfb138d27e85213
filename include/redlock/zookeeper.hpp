#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/store.hpp>

#include <chrono>
#include <string>

namespace redlock {

/// What the addresses of a @ref zookeeper store leave unsaid.
struct zookeeper_options {
    /// The timeout of the session under which a node has its locks, 100 ms to an hour; the servers keep it within limits of theirs, 2 to 20
    /// of their ticks if nobody has changed that. A lock is promised for half of it at a time (@ref node_reply::good_for): who stands still,
    /// or is cut off, for so long has lost all its locks. The locks of a process that is killed are free after this.
    std::chrono::milliseconds session{10'000};

    /// For how long an answer is waited for in bad times, 1 ms to a minute: a commit waits for the disks of a majority, or for an election.
    /// A round waits for the longest of this and `config::node_timeout`. A server that has not answered for three times this is given up
    /// for the next one.
    std::chrono::milliseconds timeout{1000};

    /// The znode below which everything is, such as "/shop/locks"; empty: the root. It must be there; below it the node makes `redlock`.
    std::string chroot{};
};

/** Locks in a ZooKeeper ensemble, 3.5 or newer: `config::stores = {redlock::zookeeper()}`, and in `config::nodes`

    `zookeeper://[user:password@]host[:port][,host…][/chroot][?session=10s&timeout=1s]`. The port is 2181 if not given. What is special in user,
    password and chroot is percent-encoded. `session` and `timeout` (such as `500ms` or `2s`) and the chroot mean what the members of
    @ref zookeeper_options do. With a user, who is one of the scheme "digest", what the node makes is for that user alone; without, for everybody.

    Several hosts are one node: servers of one ensemble, of which one is talked to at a time. It locks several resources at once, 100 at the
    most, and draws fencing tokens. It lets nobody share a lock, and chooses from no set: `errc::unsupported`. docs/stores.md says what such
    a node promises.

    @throws std::invalid_argument if an option is outside its range
*/
REDLOCK_API store zookeeper(zookeeper_options options = {});

}  // namespace redlock
