#pragma once

namespace redlock::sim {

/** Counts the messages of one hand-over of a lock for which 10, 100 or 1,000 clients wait, and prints a table. The
    clients follow the two usual recipes for ZooKeeper, or are processes with this library on one Redis server.

    @return the exit status: 1 if the page $REDLOCK_STATED_IN says otherwise
*/
int count_herds();

}  // namespace redlock::sim
