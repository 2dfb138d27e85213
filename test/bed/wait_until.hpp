#pragma once

#include <chrono>
#include <stdexcept>
#include <thread>

namespace redlock::testbed {

/// Waits until @p done is true. @throws std::runtime_error with the text @p what after a minute
template <class Condition>
void wait_until(Condition done, char const* what)
{
    using clock = std::chrono::steady_clock;
    for (auto const end = clock::now() + std::chrono::minutes(1); !done();
         std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
        if (clock::now() > end)
            throw std::runtime_error(what);
    }
}

}  // namespace redlock::testbed
