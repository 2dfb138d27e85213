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
    command{"status", "KEY", "tells who has a lock", status},
    command{"list", "[GLOB]", "lists the locks that are there", list},
    command{"break", "KEY", "takes a lock away from whoever has it", break_lock},
    command{"top", "[GLOB]", "shows nodes and locks, again and again", top},
    command{"nodes", "move", "raises counters when the set of nodes changes", nodes},
    command{"doctor", "", "says what is wrong with the servers, and what mends it", doctor_command},
    command{"acl", "", "prints what a user of locks must be allowed", acl},
    command{"demo", "[ARG…]", "a flash sale on servers that fail, without and with the lock", demo},
    command{"bench", "[ARG…]", "measures the library on this machine", bench},
    command{"completion", "bash|zsh|fish", "prints what completes its words in a shell", completion},
    command{"version", "", "prints the version", version},
    command{"man", "[COMMAND]", "", man},
};

}  // namespace

std::span<command const> commands()
{
    return all;
}

}  // namespace redlock::tools
