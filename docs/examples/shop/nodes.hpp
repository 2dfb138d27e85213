#pragma once

#include "bed/local_server.hpp"

#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace shop {

/** Lock servers of this program, which the page may stop and kill.

    @par Thread safety
    Safe on shared objects. The thread that creates it must run as long as it exists: the servers end with that thread.
*/
class nodes {
public:
    /// @throws std::runtime_error if a server does not start
    explicit nodes(std::size_t count);

    std::vector<std::string> urls() const;

    /// @param what "stop", "resume", "kill" or "start"
    /// @param number from 1
    /// @return false if there is no such node, or the action does not fit its state
    bool act(std::string_view what, std::size_t number);

private:
    std::mutex mutex_;
    std::list<redlock::testbed::local_server> servers_;
};

}  // namespace shop
