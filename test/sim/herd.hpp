#pragma once

namespace redlock::sim {

/** Counts what 10, 100 and 1,000 waiters cost until each has had one lock once, and prints a table. The waiters are
    clients of the two usual recipes for ZooKeeper, and processes with this library on one Redis server.

    @return the exit status: 1 if the page $REDLOCK_STATED_IN says otherwise
*/
int count_herds();

}  // namespace redlock::sim
