#pragma once

#include "testbed/local_server.hpp"

#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace shop {

/** Lock servers of our own, for the page to play with.

    @par Thread safety
    Safe on shared objects. The thread that makes it must outlive it: the servers die with that.
*/
class nodes {
public:
    /// @throws std::runtime_error if a server does not start
    explicit nodes(std::size_t count);

    std::vector<std::string> urls() const;

    /// @param what "stop", "resume", "kill" or "start"
    /// @param number from 1
    /// @return whether there is such a node and such a thing to do
    bool act(std::string_view what, std::size_t number);

private:
    std::mutex mutex_;
    std::list<redlock::testbed::local_server> servers_;
};

}  // namespace shop
