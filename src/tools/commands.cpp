#include "tools/commands.hpp"

#include <array>

namespace redlock::tools {

namespace {

constexpr std::array all{
    command{"run", "KEY… [--] CMD…", "runs a command while it holds locks, and stops it before they are lost", run},
    command{"hold", "KEY…", "holds locks until a signal, or the end of its input", hold},
    command{"acquire", "KEY…", "acquires locks for a script, and prints their token", acquire},
    command{"renew", "KEY… TOKEN", "renews them", renew},
    command{"release", "KEY… TOKEN", "gives them back", release},
    command{"doctor", "", "says what is wrong with the servers, and what mends it", doctor_command},
    command{"acl", "", "prints what a user of locks must be allowed", acl},
};

}  // namespace

std::span<command const> commands()
{
    return all;
}

}  // namespace redlock::tools
