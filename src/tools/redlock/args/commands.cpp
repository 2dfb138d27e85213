#include "tools/redlock/args/commands.hpp"

#include <array>

namespace redlock::cli {

namespace {

constexpr std::array every_command{
    command{"run", "KEY… [--] CMD…", "run a command while holding locks, and stop it before they are lost", run},
    command{"hold", "KEY…", "hold locks until a signal or the end of the input", hold},
    command{"acquire", "KEY…", "acquire locks for a script, and print their token", acquire},
    command{"renew", "KEY… TOKEN", "renew locks of a script", renew},
    command{"release", "KEY… TOKEN", "release locks of a script", release},
    command{"status", "KEY", "show who holds a lock", status},
    command{"list", "[GLOB]", "list all locks", list},
    command{"break", "KEY", "take a lock away from its holder", break_lock},
    command{"top", "[GLOB]", "watch nodes and locks", top},
    command{"nodes", "init|move", "let new nodes vote at once; raise counters for another set of nodes", nodes},
    command{"doctor", "", "check the servers and print the command that fixes each problem", doctor_command},
    command{"acl", "", "print the access list of a user of locks", acl},
    command{"serve", "", "grant locks over HTTP to programs in any language", serve},
    command{"demo", "[ARG…]", "run a flash sale on servers that fail, without and with the lock", demo},
    command{"bench", "[ARG…]", "measure the library on this machine", bench},
    command{"completion", "bash|zsh|fish", "print completions for a shell", completion},
    command{"version", "", "print the version", version},
    command{"man", "[COMMAND]", "", man},
};

}  // namespace

std::span<command const> commands() { return every_command; }

}  // namespace redlock::cli
