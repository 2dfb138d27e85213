#include "demo/servers.hpp"

#include "demo/signals.hpp"

#include <iterator>
#include <stdexcept>

namespace redlock::demo {

using namespace std::chrono_literals;

servers::servers(std::size_t count, std::string const& program)
{
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
    // Nobody keeps the port for us in the meantime: another program's connection may have it for a moment.
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
