#pragma once

#include "bed/local_server.hpp"

#include <cstddef>
#include <list>
#include <string>
#include <vector>

namespace redlock::demo {

/// The lock servers and their states.
class servers {
public:
    enum class state { up, paused, killed };

    /// @throws std::runtime_error if a server does not start
    servers(std::size_t count, std::string const& program);

    std::vector<std::string> urls() const;
    std::vector<state> const& states() const noexcept { return states_; }

    void kill(std::size_t index);     ///< SIGKILL
    void restart(std::size_t index);  ///< after kill: on the same port, without data
    void pause(std::size_t index);    ///< SIGSTOP; returns when the server is stopped
    void resume(std::size_t index);   ///< SIGCONT

private:
    testbed::local_server& at(std::size_t index);

    std::list<testbed::local_server> servers_;
    std::vector<state> states_;
};

}  // namespace redlock::demo
