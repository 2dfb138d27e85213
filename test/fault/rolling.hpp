#pragma once

#include <cstddef>

namespace redlock::test {

/** A long hold while each of @p count servers without a log is restarted, one after the other.

    @return 0 if the lock was held to the end, no other client got it, and a lock without healing was lost
*/
int rolling_restart(std::size_t count);

}  // namespace redlock::test
