#pragma once

#include <string>
#include <vector>

namespace redlock::bench {

/// The servers on which a peer keeps its locks.
enum class lock_servers { redis_quorum, one_redis, etcd, zookeeper, postgresql };

/** A lock that users know, of this library or of another one. A worker program in bench/versus/workers uses it.

    A worker is called in one of three modes:

    - `COMMAND probe` prints the versions of its library in one line, and exits with 0. If something is missing, it
      prints what is missing, and exits with 1.
    - `COMMAND speed URLS TTL_MS CLIENTS KEYS HOLD_MS` repeats lock and unlock.
    - `COMMAND count URLS TTL_MS` increments a counter under the lock.

    URLS are separated by commas: `redis://127.0.0.1:6379`, `http://127.0.0.1:2379` (etcd), `127.0.0.1:2181`
    (ZooKeeper), or `postgresql://…`. A worker in mode `speed` or `count` reads and writes lines. It ends when its input
    ends. If it cannot go on, it exits with 1, and the last line of its standard error says why.

    **speed**: KEYS is `one` if all clients want the lock `versus`. With `each:FIRST` the client i has the lock
    `versus:(FIRST+i)`; `each` is `each:0`. A client that does not get the lock waits as its library does. HOLD_MS is
    the time between lock and unlock.

    - The worker writes `ready` when it is connected and each client has finished a cycle. With `one`, a single cycle is
      enough.
    - It reads `go MS`. For so many milliseconds, its clients repeat lock and unlock.
    - It writes one line of JSON: `{"seconds": 1.5, "us": [310, 295], "failures": {"message": 2}, "violations": 0}`.
      `us` has the duration of each cycle in microseconds. Cycles that end after the time is over are left out.
      `violations` counts locks that two clients of this process had at once.
    - It waits for the next `go MS`.

    **count**: one client repeats these steps on the lock `versus`:

    - It waits for the lock. Then it writes `acquired`, or `acquired TOKEN` if its library has fencing tokens. After a
      failure it writes `denied MESSAGE`, and tries again after 50 ms.
    - It reads `value N MS`: the counter, and how long the work takes. It works for so long, and asks its library every
      10 ms whether it still has the lock, if the library can answer that. When the library says that the lock is lost,
      the worker writes `lost` and ends the work. The last question comes at the end of the work, before `write`.
    - After complete work it writes `write N+1`, or `write N+1 TOKEN`, and reads `ok` or `refused`.
    - It releases the lock, even if it was lost. It writes `released`, or `failed MESSAGE`. Then it waits for 50 ms, so
      that others get a lock that has no queue.
    - After `stop`, it finishes its cycle, writes `bye` and exits. A worker that waits for the lock waits at most two
      seconds more. If it gets the lock, it releases it at once.
*/
struct peer {
    std::string name;   ///< for the command line: "node-redlock-5"
    std::string title;  ///< for tables: "node-redlock 5"
    lock_servers servers;
    std::vector<std::string> command;
    std::string versions{};  ///< as the worker's `probe` prints them
    std::string missing{};   ///< why it cannot run; empty: it can
};

/// All peers, this library first. Their workers are in @p folder, which `./dev versus` fills. Calls `probe` of each.
std::vector<peer> find_peers(std::string const& folder);

}  // namespace redlock::bench
