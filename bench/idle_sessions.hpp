#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace redlock::bench {

/// Permits this process, and the processes that it starts from now on, to open @p count files and connections.
/// @throws std::runtime_error with the limit if the system does not permit so many
void need_open_files(std::size_t count);

/// Sessions of a running `redlock serve`. Each has an open stream of events, and no lock.
class idle_sessions {
public:
    /// @param address as the service prints it
    /// @throws std::runtime_error if the service refuses a session
    idle_sessions(std::string const& address, std::size_t count);
    ~idle_sessions();
    idle_sessions(idle_sessions const&) = delete;
    idle_sessions& operator=(idle_sessions const&) = delete;

private:
    std::vector<int> sockets_;
};

}  // namespace redlock::bench
