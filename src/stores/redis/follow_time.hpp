#pragma once

#include <chrono>

namespace redlock::redis {

/** For how long after a promotion a manager that has not heard of it may prolong locks at the old master. Nothing is granted
    at the new one for so long beyond `max_ttl`.

    A manager asks once a second. A Sentinel tells the others every other second, and two of its messages may be lost. A master
    of a cluster that is cut off refuses writes at most half a `cluster-node-timeout` after a replica of it may be promoted. That
    is 7.5 s by default.
*/
inline constexpr std::chrono::seconds follow_time{10};

}  // namespace redlock::redis
