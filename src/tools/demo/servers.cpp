#include "tools/demo/servers.hpp"

#include "tools/demo/signals.hpp"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace redlock::demo {

using namespace std::chrono_literals;

namespace {

/// If the disk is full, a server ends without a message, because it cannot write its log either.
void check_that_there_is_room()
{
    testbed::temporary_folder const folder;
    auto const name = folder.path + "/room";
    std::ofstream file(name);
    file << std::string(64 * 1024, '.') << std::flush;
    if (!file)
        throw std::system_error(errno, std::generic_category(), "cannot write " + name);
}

}  // namespace

servers::servers(std::size_t count, std::string const& program)
{
    check_that_there_is_room();
    while (servers_.size() < count) {
        sleep_unless_interrupted(0ms);
        servers_.emplace_back(std::vector<std::string>(), program);
        states_.push_back(state::up);
    }
}

std::vector<std::string> servers::urls() const
{
    std::vector<std::string> all;
    for (auto const& s : servers_)
        all.push_back(s.url());
    return all;
}

void servers::kill(std::size_t index)
{
    at(index).kill();
    states_[index] = state::killed;
}

void servers::restart(std::size_t index)
{
    // The port is free while the server is down: another program's connection may use it for a moment.
    for (int attempt = 0;; ++attempt) {
        try {
            at(index).start();
            break;
        } catch (std::runtime_error const&) {
            if (attempt == 4)
                throw;
            sleep_unless_interrupted(200ms);
        }
    }
    states_[index] = state::up;
}

void servers::pause(std::size_t index)
{
    at(index).pause();
    states_[index] = state::paused;
}

void servers::resume(std::size_t index)
{
    at(index).resume();
    states_[index] = state::up;
}

testbed::local_server& servers::at(std::size_t index)
{
    return *std::next(servers_.begin(), static_cast<std::ptrdiff_t>(index));
}

}  // namespace redlock::demo
